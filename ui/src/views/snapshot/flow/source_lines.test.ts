import { expect, it } from "vitest";
import type { SnapshotViewSourceAnswer } from "@/api/generated/answers";
import { outerOf, pieceFor, shownLines, sourceLine } from "./source_lines";

const call = (depth: number, more = {}) => ({
  ...{ start: 0, end: 0, depth, function: depth, first_row: 0, last_row: 9, instructions: 1, self_instructions: 1 },
  ...more,
});
const FUNCTIONS = [
  { name: "outer", file: "a.cc", line: 10 },
  { name: "inner", file: "b.cc", line: 20 },
];
const stack = (inner: object) => ({
  ...{ thread: 0, unit: "ns" as const, row: 5, offset: 0 },
  ...{ functions: FUNCTIONS, calls: [call(0), call(1, inner)] },
});
const ROW = { row: 5, offset: 0, kind: "instruction" as const, text: "nop", file: "b.cc", line: 25 };
const CALLED = { called_from: { address: "0x1", file: "a.cc", line: 14 } };

it("is the instruction's own line, unless a call further out is chosen", () => {
  expect(sourceLine(undefined, ROW, undefined)).toEqual({ file: "b.cc", line: 25 });
  expect(sourceLine({ row: 5 }, ROW, stack(CALLED))).toEqual({ file: "b.cc", line: 25 });
  expect(sourceLine({ row: 5, depth: 1 }, ROW, stack(CALLED))).toEqual({ file: "b.cc", line: 25 });
  expect(sourceLine({ row: 5, depth: 0 }, ROW, stack(CALLED))).toEqual({ file: "a.cc", line: 14, function: "outer" });
});

it("is that of the call where what was inlined into it is deeper, and leads there else", () => {
  const inlined = { ...ROW, file: "stl_map.h", inlined_at: { file: "b.cc", line: 22 } };
  const chosen = sourceLine({ row: 5, depth: 1 }, inlined, stack(CALLED));
  expect(chosen).toEqual({ file: "b.cc", line: 22, inlined: { file: "stl_map.h", line: 25 } });
  const own = sourceLine({ row: 5 }, inlined, stack(CALLED));
  expect(own).toMatchObject({ file: "stl_map.h", line: 25 });
  expect(outerOf(own!)).toEqual(chosen);
  expect(outerOf({ file: "a.cc", line: 1 })).toBeUndefined();
});

it("says so where the call was not seen, and takes no line of another instant's calls", () => {
  const begins = { file: "a.cc", line: 10, function: "outer", begins: true };
  expect(sourceLine({ row: 5, depth: 0 }, ROW, stack({}))).toEqual(begins);
  expect(sourceLine({ row: 6, depth: 0 }, ROW, stack(CALLED))).toEqual({ file: "b.cc", line: 25 });
  expect(sourceLine({ row: 5 }, { ...ROW, file: "" }, undefined)).toBeUndefined();
});

it("keeps a piece for the lines near its middle", () => {
  const piece = pieceFor(undefined, { file: "a.cc", line: 100 });
  expect(pieceFor(piece, { file: "a.cc", line: 130 })).toBe(piece);
  expect(pieceFor(piece, { file: "a.cc", line: 140 }).middle).toBe(140);
  expect(pieceFor(piece, { file: "b.cc", line: 100 }).file).toBe("b.cc");
});

it("numbers the lines, and shows none that are of another file or beside the line", () => {
  const answer: SnapshotViewSourceAnswer = { file: "a.cc", first_line: 13, lines: ["{", "  call();", "}"] };
  const lines = shownLines(answer, { file: "a.cc", line: 14 });
  expect(lines?.map(({ number, current }) => [number, current])).toEqual([
    [13, false],
    [14, true],
    [15, false],
  ]);
  expect(shownLines(answer, { file: "b.cc", line: 14 })).toBeUndefined();
  expect(shownLines(answer, { file: "a.cc", line: 16 })).toBeUndefined();
});
