import { describe, expect, it } from "vitest";
import type { HeatmapAnswer } from "@/api/generated/answers";
import { heatOf, rowOfSlowest, slowestApart, slowestRow, slowestShare, tally, warmth, redness } from "./heat";
import { boxBetween, boxOf, cellAt, holdsApart, moved, rowOf, selectionOf, slowestCell } from "./selection";

const TWO = 1795269600000000000n; // 2026-11-21 14:00 UTC
const answer: HeatmapAnswer = {
  start_time_unix_nano: TWO.toString(),
  step_nano: 60e9,
  columns: 4,
  row_bounds_nano: [0, 1e6, 1e7, 1e8],
  cells: [
    [0, 0, 990, 1],
    [1, 1, 8, 0],
    [2, 2, 2, 2],
  ],
  ...{ spans: 1000, errors: 3, max_nano: 9e7, errors_exact: true },
};
const heat = heatOf(answer);

it("can be looked up by column and row", () => {
  expect(heat.rows).toBe(3);
  expect(heat.counts[1 * 3 + 1]).toBe(8);
  expect(heat.mostInCell).toBe(990);
  expect([...heat.columnErrors]).toEqual([1, 0, 2, 0]);
});

it("knows when there is nothing but errors", () => {
  expect(heat.onlyErrors).toBe(false);
  expect(heatOf({ ...answer, errors: 1000 }).onlyErrors).toBe(true);
  expect(heatOf({ ...answer, cells: [], spans: 0, errors: 0 }).onlyErrors).toBe(false);
});

it("counts what is in a box", () => {
  expect(tally(heat, { left: 1, right: 3, low: 0, high: 2 })).toEqual({ count: 10, errors: 2 });
  expect(tally(heat, { left: 3, right: 3, low: 0, high: 2 })).toEqual({ count: 0, errors: 0 });
});

it("is log: one span is seen beside a million", () => {
  expect(warmth(1, 1e6)).toBe(0);
  expect(warmth(1e3, 1e6)).toBeCloseTo(0.5);
  expect(warmth(1, 1)).toBe(1);
});

it("finds the row above which the slowest hundredth lies", () => {
  expect(rowOfSlowest(heat, 0.01)).toBe(1);
  expect(rowOfSlowest(heat, 0.001)).toBe(2);
  expect(rowOfSlowest(heatOf({ ...answer, cells: [], spans: 0 }), 0.01)).toBeUndefined();
});

it("calls a hundredth the slowest, and more where that is next to nothing", () => {
  const shares = [1e6, 2000, 1999, 1000, 500, 300, 10].map((spans) => slowestShare({ ...heat, spans }));
  expect(shares).toEqual([0.01, 0.01, 0.02, 0.02, 0.05, 0.1, 0.1]);
});

describe("the slowest that stand apart", () => {
  // Rows of a factor of 1.25; what is in them, from the lowest.
  const rowsOf = (...counts: number[]) =>
    heatOf({
      ...answer,
      row_bounds_nano: [0, ...counts.map((_, row) => 1e6 * 1.25 ** row)],
      cells: counts.map((count, row): [number, number, number, number] => [row % 4, row, count, 0]),
      spans: counts.reduce((sum, count) => sum + count, 0),
    });
  it("are those above the gap", () => {
    const heat = rowsOf(10, 80, 0, 0, 3, 1);
    expect(slowestApart(heat)).toEqual({ row: 4, count: 4 });
    expect(slowestRow(heat)).toBe(4);
  });
  it("are known when they are selected", () => {
    const heat = rowsOf(10, 80, 0, 0, 3, 1);
    const selected = (low: number, right = 3) => selectionOf(heat, { left: 0, right, low, high: 5 });
    expect([selected(4), selected(3), selected(4, 0)].map((one) => holdsApart(heat, one))).toEqual([
      true,
      false,
      false,
    ]);
    expect(holdsApart(heat, undefined)).toBe(false);
    expect(holdsApart(rowsOf(90, 10), selected(4))).toBe(false);
  });
  it("are those above the widest gap", () => {
    expect(slowestApart(rowsOf(100, 0, 0, 0, 0, 2, 0, 0, 4))?.row).toBe(5);
    expect(slowestApart(rowsOf(100, 0, 0, 2, 0, 0, 0, 0, 4))?.row).toBe(8);
  });
  it("are not there without a gap", () => {
    expect(slowestApart(rowsOf(10, 80, 0, 3, 1))).toBeUndefined();
    expect(slowestRow(rowsOf(10, 80, 0, 3, 1))).toBe(3);
    const dense = { ...rowsOf(90, 0, 0, 5), bounds: [0, 1e6, 1.1e6, 1.2e6, 1.3e6] };
    expect(slowestApart(dense)).toBeUndefined();
  });
  it("are neither three nor many", () => {
    expect(slowestApart(rowsOf(100, 0, 0, 3))).toBeUndefined();
    expect(slowestApart(rowsOf(90, 0, 0, 10))?.count).toBe(10);
    expect(slowestApart(rowsOf(89, 0, 0, 11))).toBeUndefined();
    expect(slowestApart(rowsOf())).toBeUndefined();
  });
});

describe("a selection", () => {
  const box = { left: 1, right: 2, low: 1, high: 2 };
  it("is exactly what its cells count", () => {
    expect(selectionOf(heat, box)).toEqual({
      ...{ from: TWO + 60_000_000_000n, to: TWO + 180_000_000_000n },
      ...{ minNano: 1_000_001, maxNano: 100_000_000 },
    });
  });
  it("comes back to its cells", () => expect(boxOf(heat, selectionOf(heat, box))).toEqual(box));
  it("is cut where the picture ends", () => {
    const wide = { from: TWO - 1n, to: TWO + 9_000_000_000_000n, minNano: 0, maxNano: 1e12 };
    expect(boxOf(heat, wide)).toEqual({ left: 0, right: 3, low: 0, high: 2 });
  });
  it("may be out of sight", () => {
    expect(boxOf(heat, { from: TWO - 9n, to: TWO, minNano: 0, maxNano: 1e9 })).toBeUndefined();
    expect(boxOf(heat, { from: TWO, to: TWO + 1n, minNano: 2e8, maxNano: 1e9 })).toBeUndefined();
  });
});

it("knows a duration's row: bounds belong to the row below", () => {
  expect([0, 1, 1e6, 1e6 + 1, 1e8, 1e8 + 1].map((nano) => rowOf(heat, nano))).toEqual([0, 0, 0, 1, 2, 3]);
});

it("finds the cell under the pointer, also when it has left", () => {
  expect(cellAt(heat, 150, 10, 400, 90)).toEqual({ column: 1, row: 2 });
  expect(cellAt(heat, -5, 200, 400, 90)).toEqual({ column: 0, row: 0 });
});

describe("the cursor", () => {
  it("begins at the slowest", () => {
    expect(slowestCell(heat)).toEqual({ column: 2, row: 2 });
    expect(moved(heat, undefined, "ArrowLeft", false).at).toEqual({ column: 2, row: 2 });
  });
  it("moves, extends, and stays inside", () => {
    let cursor = moved(heat, undefined, "ArrowLeft", false);
    cursor = moved(heat, cursor, "ArrowRight", true);
    cursor = moved(heat, cursor, "ArrowRight", true);
    cursor = moved(heat, cursor, "ArrowDown", true);
    expect(boxBetween(cursor.anchor, cursor.at)).toEqual({ left: 2, right: 3, low: 1, high: 2 });
    cursor = moved(heat, cursor, "ArrowLeft", false);
    expect(cursor.anchor).toEqual(cursor.at);
  });
});

it("reddens a cell by the share of its errors, not by one of them", () => {
  expect(redness(1, 1000)).toBe(0);
  expect(redness(0, 0)).toBe(0);
  expect(redness(1, 100)).toBeCloseTo(0.1);
  expect(redness(25, 100)).toBe(0.5);
  expect(redness(3, 3)).toBe(1);
});
