import { expect, it } from "vitest";
import { layOut, stripAt, stripOf } from "./layout";
import { modelOf } from "./model";
import {
  across,
  beside,
  describe,
  findSpan,
  findThreadAt,
  firstOf,
  formatFound,
  formatSelection,
  parseSelection,
} from "./selection";
import { answerOf, processOf, spanOf, stateOf, threadOf } from "./testing";

const worker = threadOf({
  spans: [spanOf(), spanOf({ span_id: "s1", parent_span_id: "s0", offset_nano: 100, duration_nano: 50 })],
  states: [stateOf("running", 0, 400), stateOf("sleeping", 400, 1000, { in: "futex" })],
});
const helper = threadOf({ tid: 9, of_trace: false, states: [stateOf("running", 0, 1000)] });
const model = modelOf(answerOf({ processes: [processOf({ threads: [worker, helper] })] }));
const layout = layOut(model, new Set());

function select(text: string) {
  const selection = parseSelection(layout, text);
  if (!selection) throw new Error(`nothing at ${text}`);
  return selection;
}

it("goes into the address and comes back", () => {
  const text = "states~0~400~8~7@shop-1";
  expect(formatSelection(select(text))).toBe(text);
  expect(describe(select(text)).facts).toContainEqual({ label: "waits for", value: "futex" });
  for (const wrong of [undefined, "", "states~0~401~8~7@shop-1", "states~1~400~8~7@shop-1", "locks~0~400~8~7@shop-1"]) {
    expect(parseSelection(layout, wrong)).toBeUndefined();
  }
});

it("tells items apart that begin at the same moment", () => {
  const events = [0, 5, 5, 9].map((offset_nano) => ({ offset_nano, name: `at ${offset_nano}` }));
  const thread = threadOf({ events });
  const same = layOut(modelOf(answerOf({ processes: [processOf({ threads: [thread] })] })), new Set());
  let at = parseSelection(same, "events~0~0~8~7@shop-1");
  const texts: string[] = [];
  for (let step = 0; at && step < 4; ++step) {
    texts.push(formatSelection(at));
    expect(parseSelection(same, texts.at(-1))).toEqual(at);
    at = beside(at, 1);
  }
  expect(texts.map((text) => text.split("~")[2])).toEqual(["0", "5", "5.1", "9"]);
  for (const wrong of ["5.2", "5.-1", "5.x", "0.1"])
    expect(parseSelection(same, `events~0~${wrong}~8~7@shop-1`)).toBeUndefined();
});

it("steps through a row, and stays at its ends", () => {
  const first = select("states~0~0~8~7@shop-1");
  expect(beside(first, 1).item).toBe(1);
  expect(beside(first, -1)).toEqual(first);
  expect(beside(beside(first, 1), 1).item).toBe(1);
});

it("goes down through the rows of spans to the states, and on to the next thread, and back up", () => {
  const texts = [];
  let at = firstOf(layout, 120);
  for (let step = 0; at && step < 4; ++step) {
    texts.push(formatSelection(at));
    at = across(layout, at, 1, 120);
  }
  expect(texts).toEqual([
    "spans~0~0~8~7@shop-1",
    "spans~1~100~8~7@shop-1",
    "states~0~0~8~7@shop-1",
    "states~0~0~9~7@shop-1",
  ]);
  expect(formatSelection(across(layout, select("states~0~0~8~7@shop-1"), -1, 120))).toBe("spans~1~100~8~7@shop-1");
});

it("finds a span, and who woke a thread", () => {
  const span = findSpan(model, "s1");
  expect(span && formatFound(span)).toBe("spans~1~100~8~7@shop-1");
  expect(findSpan(model, "nowhere")).toBeUndefined();
  const waker = findThreadAt(model, 7, 8, 500);
  expect(waker && formatFound(waker)).toBe("states~0~400~8~7@shop-1");
  expect(findThreadAt(model, 7, 1, 500)).toBeUndefined();
});

it("has nothing of a process that is folded, but its captures", () => {
  const folded = layOut(model, new Set(["7@shop-1"]));
  expect(folded.strips.map(({ track }) => track.kind)).toEqual(["captures"]);
  expect(folded.height).toBeLessThan(layout.height);
  expect(parseSelection(folded, "states~0~400~8~7@shop-1")).toBeUndefined();
});

it("knows which track is where", () => {
  const states = stripOf(layout, "7@shop-1", "8", "states");
  expect(states && stripAt(layout, states.top + 1)).toBe(states);
  expect(stripAt(layout, layout.height + 1)).toBeUndefined();
});
