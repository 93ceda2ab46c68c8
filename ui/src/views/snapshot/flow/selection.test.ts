import { expect, it } from "vitest";
import type { SnapshotViewAnswer, SnapshotViewCall, SnapshotViewStackAnswer } from "@/api/generated/answers";
import {
  extentOf,
  findParams,
  formatSelection,
  parseSelection,
  firstThread,
  sourceOfPlace,
  threadWords,
  stackParams,
  threadText,
  tileParams,
} from "./address";
import { doubtsOf } from "./doubts";
import { moved } from "./moves";

it("reads back what an address says of the selection, and no nonsense", () => {
  for (const selection of [{ row: 0 }, { row: 9_999_999, depth: 0 }, { row: 7, depth: 12 }])
    expect(parseSelection(formatSelection(selection))).toEqual(selection);
  for (const text of [undefined, "", "-1", "1~", "1~2~3", "1.5", "7e3"]) expect(parseSelection(text)).toBeUndefined();
  expect(formatSelection(undefined)).toBeUndefined();
});

const thread = {
  ...{
    pid: 7,
    tid: 9,
    name: "shop",
    unit: "ns" as const,
    start: -5,
    end: 1000,
    rows: 300,
    instructions: 299,
    gaps: 1,
    calls: 3,
    depths: 2,
  },
};
const ANSWER: SnapshotViewAnswer = {
  ...{ snapshot_id: "ab", engine: "step", slowdown: 0, unit: "ns", taken_unix_nano: "0", command: "shop" },
  ...{ instructions: 299, gaps: 1, gap_reasons: [{ reason: "overflow", count: 1, cause: "" }] },
  ...{ left_out_rows: 0, left_out_calls: 0, thread: 1, threads: [thread, { ...thread, of_trigger: true }] },
};
const place = (query: Record<string, string>) => ({ view: "snapshot" as const, id: "ab", query });

it("takes the thread that the address says, else the one that the server names", () => {
  expect(sourceOfPlace(place({ thread: "0" }), ANSWER)).toEqual({ id: "ab", thread: 0, axis: "time" });
  expect(sourceOfPlace(place({ thread: "77" }), ANSWER).thread).toBe(1);
  expect(sourceOfPlace(place({}), ANSWER, 0).thread).toBe(0);
  expect(sourceOfPlace(place({ at: "4" }), ANSWER, 0).thread).toBe(1);
  expect(sourceOfPlace(place({ tid: "12" }), { ...ANSWER, threads: [thread, { ...thread, tid: 12 }] }, 0).thread).toBe(
    1,
  );
  expect(sourceOfPlace(place({ axis: "rows" }), ANSWER).axis).toBe("rows");
  expect(sourceOfPlace(place({}), { ...ANSWER, threads: [thread, { ...thread, unit: "rows" }] }).axis).toBe("rows");
  expect(threadText({ ...thread, of_trigger: true })).toBe("shop 9, 299 instructions, the trigger's");
  expect(extentOf(thread, "rows")).toEqual({ start: 0, end: 299 });
});

it("asks for a tile, and for the depths that had no room in it", () => {
  const source = { id: "ab", thread: 1, axis: "time" as const };
  const extent = { start: -5, end: 1000 };
  const tile = { level: 10, index: 1, band: 1 };
  expect(tileParams(source, extent, tile)).toMatchObject({ from: "1019", to: "2043", first_depth: "32", depths: 32 });
  expect(tileParams(source, extent, tile, 40)).toMatchObject({ first_depth: "40", depths: 24 });
  expect(stackParams(source, { row: 5 })).toEqual({ thread: "1", row: "5", depth: undefined });
  expect(findParams(source, { text: "lock", kind: "text" }, 5, true)).toMatchObject({ text: "lock", backwards: true });
});

const call = (first: number, last: number, depth: number): SnapshotViewCall => ({
  ...{ start: first, end: last, depth, function: 0, first_row: first, last_row: last },
  ...{ instructions: 1, self_instructions: 1 },
});
const STACK: SnapshotViewStackAnswer = {
  ...{ thread: 0, unit: "ns", row: 50, offset: 50, functions: [{ name: "main" }] },
  calls: [call(0, 299, 0), call(40, 60, 1)],
  next: call(70, 80, 1),
  inner: call(51, 53, 2),
};

it("goes from call to call", () => {
  expect(moved(STACK, undefined, "next")).toEqual({ row: 70, depth: 1 });
  expect(moved(STACK, undefined, "previous")).toBeUndefined();
  expect(moved(STACK, undefined, "in")).toEqual({ row: 51, depth: 2 });
  expect(moved(STACK, undefined, "out")).toEqual({ row: 39, depth: 0 });
  expect(moved(STACK, 0, "out")).toBeUndefined();
  expect(moved(STACK, 7, "begin")).toEqual({ row: 40, depth: 1 });
  expect(moved(STACK, 1, "end")).toEqual({ row: 60, depth: 1 });
  expect(moved({ ...STACK, calls: [] }, undefined, "begin")).toBeUndefined();
});

it("says what is doubtful", () => {
  expect(doubtsOf(ANSWER, thread)).toEqual(["1 gap (all threads: overflow 1)"]);
  expect(doubtsOf({ ...ANSWER, left_out_rows: 2000 }, { ...thread, unit: "ticks", gaps: 0 })).toEqual([
    "times are ticks: nothing says how long one is",
    "2,000 instructions too many are not shown",
  ]);
  expect(doubtsOf({ ...ANSWER, nominal_tsc_hz: 2_400_000_000 }, { ...thread, gaps: 0 })[0]).toContain("2.400 GHz");
});

it("begins with who held the lock, or else with who did most", () => {
  const threads = [5, 90, 90, 7].map((instructions, tid) => ({ ...thread, tid, instructions }));
  const answer = { ...ANSWER, threads, thread: 0 };
  expect(firstThread(answer, undefined)).toBe(1);
  expect(firstThread({ ...answer, thread: 2 }, undefined)).toBe(2);
  expect(firstThread(answer, 3)).toBe(3);
  expect(firstThread(answer, 9)).toBe(1);
  expect(threadWords(answer, 3)).toEqual({ thread: "3", tid: "3" });
  expect(threadWords({ ...answer, threads: [{ ...thread, tid: -1 }] }, 0)).toEqual({ thread: "0" });
});
