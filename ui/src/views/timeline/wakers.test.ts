import { describe, expect, it } from "vitest";
import { layOut } from "./layout";
import { modelOf } from "./model";
import { describe as told, formatFound, parseSelection } from "./selection";
import { answerOf, captureOf, processOf, spanOf, stateOf, threadOf } from "./testing";
import { stepToWaker, wakersOf, wakerText } from "./wakers";
import { whyUnknownIn } from "./unknown_parts";

const woken = (tid: number) => ({ in: "futex", waker: { pid: 7, tid, name: `t${tid}` } });
const threads = [
  threadOf({
    spans: [spanOf()],
    states: [stateOf("running", 0, 100), stateOf("sleeping", 100, 600, woken(9)), stateOf("running", 600, 700)],
  }),
  threadOf({
    tid: 9,
    states: [
      stateOf("running", 0, 50),
      stateOf("sleeping", 50, 400, woken(10)),
      stateOf("running", 400, 800),
      stateOf("sleeping", 800, 1000),
    ],
  }),
  threadOf({
    tid: 10,
    states: [stateOf("sleeping", 0, 300, { waker: { interrupt: true } }), stateOf("running", 300, 1000)],
  }),
];
const model = modelOf(answerOf({ processes: [processOf({ threads })] }));
const layout = layOut(model, new Set());
const select = (text: string) => {
  const selection = parseSelection(layout, text);
  if (!selection) throw new Error(`nothing at ${text}`);
  return selection;
};
const step = (text: string) => {
  const selection = select(text);
  const found = stepToWaker(model, selection, told(selection));
  return "nobody" in found ? found.nobody : formatFound(found);
};

it("follows wakers as far as they are known", () => {
  const links = wakersOf(model, told(select("states~0~100~8~7@shop-1")));
  expect(links.map(({ waker, at }) => [waker.tid ?? "interrupt", at])).toEqual([
    [9, 600],
    [10, 400],
    ["interrupt", 300],
  ]);
  expect(links[0]?.ran && formatFound(links[0].ran)).toBe("states~0~400~9~7@shop-1");
  expect(links[0]?.wait?.offset_nano).toBe(50);
  expect(links[2]?.ran).toBeUndefined();
});

it("steps from a wait to its waker, and from a thread that runs to its wait before, until nobody is known", () => {
  expect(step("states~0~100~8~7@shop-1")).toBe("states~0~400~9~7@shop-1");
  expect(step("states~0~400~9~7@shop-1")).toBe("states~0~50~9~7@shop-1");
  expect(step("states~0~50~9~7@shop-1")).toBe("states~0~300~10~7@shop-1");
  expect(step("states~0~300~10~7@shop-1")).toBe("states~0~0~10~7@shop-1");
  expect(step("states~0~0~10~7@shop-1")).toContain("interrupt");
  expect(step("states~0~0~8~7@shop-1")).toBe("who woke it is not known");
  expect(step("spans~0~0~8~7@shop-1")).toContain("choose a wait");
});

describe("a state that the capture cuts", () => {
  it("lasted at least so long, and nobody woke it", () => {
    const cut = told(select("states~0~800~9~7@shop-1"));
    expect(cut.cut).toBe("the capture ends here");
    expect(cut.what).toContain("not known");
    expect(told(select("states~0~50~9~7@shop-1")).cut).toBeUndefined();
    expect(told(select("states~0~0~8~7@shop-1")).cut).toBe("the capture begins within it");
  });
  it("is cut by what is shown, too", () => {
    const short = [threadOf({ duration_nano: 500, states: [stateOf("sleeping", 20, 500)] })];
    const answer = answerOf({
      ...{ captures: [captureOf({ offset_nano: -9000, duration_nano: 90_000 })], duration_nano: 90_000 },
      processes: [processOf({ threads: short })],
    });
    const selection = parseSelection(layOut(modelOf(answer), new Set()), "states~0~20~8~7@shop-1");
    expect(selection && told(selection).cut).toBe("what is shown of the thread ends here");
  });
});

it("says why something is unknown", () => {
  const lost = modelOf(
    answerOf({ duration_nano: 5000, captures: [captureOf({ kernel_complete_from_offset_nano: 400 })] }),
  );
  const strip = { processKey: "7@shop-1", laneKey: "8" };
  expect(whyUnknownIn(lost, strip, 500, 900)).toEqual([]);
  expect(whyUnknownIn(lost, strip, 0, 3000)).toEqual([
    "the recorder may have overwritten something here",
    "no capture covers this time: nothing is known of what threads did",
  ]);
});

it("names the service of a waker in another process", () => {
  const waker = { pid: 9, tid: 8, name: "web-1", other_process: true };
  expect(wakerText({ ...waker, service: "vault" })).toBe("web-1, thread 8 of process 9 (vault)");
  expect(wakerText(waker)).toBe("web-1, thread 8 of process 9");
});
