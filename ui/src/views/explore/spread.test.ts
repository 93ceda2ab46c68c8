import { expect, it } from "vitest";
import type { Difference } from "@/api/generated/answers";
import { heatOf } from "./heat";
import { candidates, inOrder, leftOutText, seenText, spreadOver, stripOf, emptyText } from "./spread";

const heat = heatOf({
  ...{ start_time_unix_nano: "1795269600000000000", step_nano: 60e9, columns: 4, row_bounds_nano: [0, 1e6, 1e7, 1e8] },
  cells: [
    [1, 0, 5, 0],
    [2, 1, 3, 0],
    [2, 2, 2, 0],
  ],
  ...{ spans: 10, errors: 0, max_nano: 9e7, errors_exact: true },
});

it("says when a value was seen first and last, and how much of it was slow", () => {
  expect(stripOf(heat, 1e7)).toEqual({
    counts: [0, 5, 5, 0],
    slow: [0, 0, 2, 0],
    ...{ spans: 10, slowSpans: 2, first: 1795269660000000000n, last: 1795269780000000000n },
  });
  expect(stripOf(heat, 5e6).slow).toEqual([0, 0, 2, 0]);
  expect(stripOf(heat, 1e6).slow).toEqual([0, 0, 5, 0]);
});

it("has neither where there is nothing", () => {
  const empty = stripOf({ ...heat, columnCounts: new Float64Array(4), counts: new Float64Array(12) }, 0);
  expect(empty.first).toBeUndefined();
  expect(empty.spans).toBe(0);
});

it("looks at telling values before frequent ones", () => {
  expect(candidates(["b"], ["a", "b", "c"], 2)).toEqual(["b", "a"]);
});

it("says what began or ended within the picture, and no more", () => {
  const write = (at: bigint) => `+${(at - heat.start) / 60_000_000_000n}`;
  const say = (first: number, last: number, columns: number) => {
    const [begin, end] = [first, last].map((column) => heat.start + BigInt(column) * 60_000_000_000n);
    return seenText({ ...stripOf(heat, 0), first: begin!, last: end! }, { ...heat, columns }, write);
  };
  expect(say(3, 12, 20)).toBe("first seen +3 · last seen +12");
  expect(say(0, 20, 20)).toBe("all the time");
  expect(say(3, 20, 20)).toBe("first seen +3");
  // What merely misses the first columns was there before.
  expect(say(2, 20, 20)).toBe("all the time");
  expect(say(5, 120, 120)).toBe("all the time");
  expect(say(6, 120, 120)).toBe("first seen +6");
  const left = { ...stripOf(heat, 0), counts: [1, 0, 0, 1], first: heat.start, last: heat.start + 240_000_000_000n };
  expect(seenText(left, heat, write)).toBe("not seen +1 – +3");
});

it("has versions in the order of their coming, then the slow ones", () => {
  const value = (name: string, first: number, slowSpans: number) => ({
    name,
    strip: { counts: Array.from({ length: 40 }, (_, at) => (at < first ? 0 : 1)), slow: [], spans: 10, slowSpans },
  });
  const all = [value("new", 20, 9), value("quick", 0, 0), value("slow", 2, 5)];
  expect(inOrder(all).map(({ name }) => name)).toEqual(["slow", "quick", "new"]);
});

it("shows versions over time by default where spans have them, otherwise what differs most, or nothing", () => {
  const differing = (key: string) => ({ of: "attribute", key, value: "x" }) as Difference;
  const differences = [{ ...differing(""), of: "operation" } as Difference, differing("gone"), differing("tenant")];
  expect(spreadOver("service.version", ["service.version", "tenant"], differences)).toBe("service.version");
  expect(spreadOver("service.version", undefined, differences)).toBe("service.version");
  expect(spreadOver("service.version", ["tenant"], differences)).toBe("tenant");
  expect(spreadOver("service.version", ["tenant"], [])).toBe("");
  expect(spreadOver("gone", ["tenant"], differences)).toBe("gone");
  expect(spreadOver("", ["tenant"], differences)).toBe("");
});

it("says what is in no strip", () => {
  const strips = [{ strip: { spans: 700 } }, { strip: { spans: 200 } }];
  const shown = { spread: "tenant", strips, spans: 1000, some: false };
  expect(leftOutText(shown)).toBe("100 of 1,000 spans have no tenant.");
  expect(leftOutText({ ...shown, some: true })).toBe("100 of 1,000 spans are of other values, or have no tenant.");
  // A span may have two values: the resource's and its own.
  expect(leftOutText({ ...shown, spans: 850 })).toBeUndefined();
  expect(leftOutText({ ...shown, spans: 900 })).toBeUndefined();
  expect(leftOutText({ ...shown, strips: [] })).toBeUndefined();
});

it("says that no span has the attribute only once that is known", () => {
  const asked = { spread: "tenant", some: false, failed: undefined, done: false };
  expect(emptyText(asked)).toBe("Asking for tenant …");
  expect(emptyText({ ...asked, failed: { message: "the server does not answer" } })).toMatch(/does not answer/);
  expect(emptyText({ ...asked, done: true })).toMatch(/^No span that is shown has tenant/);
  expect(emptyText({ ...asked, done: true, some: true })).toMatch(/most frequent values/);
});
