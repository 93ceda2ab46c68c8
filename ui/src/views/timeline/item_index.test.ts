import { expect, it } from "vitest";
import { ItemIndex, type Interval, type Run } from "./item_index";

function row(items: readonly (readonly [number, number, number?])[], instants = false): ItemIndex {
  const intervals: Interval[] = items.map(([begin, end, kind = 0]) => ({ begin, end, kind }));
  return new ItemIndex(intervals, 3, instants);
}
function runs(index: ItemIndex, begin: number, duration: number, width: number): Run[] {
  const all: Run[] = [];
  index.forEachRun({ begin, duration }, width, (run) => all.push(run));
  return all;
}

it("finds what is in sight", () => {
  const index = row([
    [0, 10],
    [10, 20],
    [30, 40],
  ]);
  expect(index.firstOver(5)).toBe(0);
  expect(index.firstOver(10)).toBe(1);
  expect(index.firstOver(25)).toBe(2);
  expect(index.firstOver(40)).toBe(3);
  expect(runs(index, 12, 10, 100).map((run) => run.first)).toEqual([1]);
});

it("draws one by one what has room", () => {
  const drawn = runs(
    row([
      [0, 10, 1],
      [10, 30, 2],
    ]),
    0,
    100,
    100,
  );
  expect(drawn.map(({ left, right, kind }) => [left, right, kind])).toEqual([
    [0, 10, 1],
    [10, 30, 2],
  ]);
});

it("merges what falls on a pixel: its number, the greatest share, how much of the pixel it has", () => {
  const index = row([
    [0, 2, 0],
    [2, 5, 1],
    [5, 6, 0],
  ]);
  expect(runs(index, 0, 1000, 100)).toEqual([
    { first: 0, last: 3, left: 0, right: 1, kind: 0, coverage: expect.closeTo(0.6, 9) },
  ]);
  expect(index.shares(0, 3)).toEqual([3, 3, 0]);
});

it("shows a long one that begins beside short ones by itself", () => {
  const index = row([
    [0, 1],
    [1, 2],
    [2, 500, 2],
  ]);
  const drawn = runs(index, 0, 1000, 100);
  expect(drawn.map(({ first, last }) => [first, last])).toEqual([
    [0, 2],
    [2, 3],
  ]);
  expect(drawn[1]).toMatchObject({ kind: 2, right: 50 });
});

it("makes no more runs than two for a pixel of a hundred thousand items, and loses none", () => {
  const items = Array.from({ length: 100_000 }, (_, at) => [at * 10, at * 10 + 7, at % 3] as const);
  const drawn = runs(row(items), 0, 1_000_000, 500);
  expect(drawn.length).toBeLessThanOrEqual(1000);
  expect(drawn.reduce((sum, run) => sum + run.last - run.first, 0)).toBe(100_000);
});

it("counts instants, and keeps one that is at the edge", () => {
  const index = row(
    [
      [5, 5, 1],
      [5, 5, 1],
      [6, 6, 2],
      [100, 100, 0],
    ],
    true,
  );
  expect(runs(index, 0, 1000, 100)[0]).toMatchObject({ first: 0, last: 3, kind: 1 });
  expect(runs(index, 100, 10, 100).map((run) => run.first)).toEqual([3]);
});

it("finds what is below the pointer, and what is near it", () => {
  const index = row([
    [0, 10],
    [100, 101],
  ]);
  const view = { begin: 0, duration: 1000 };
  expect(index.runAt(view, 1000, 5)?.first).toBe(0);
  expect(index.runAt(view, 1000, 103)?.first).toBe(1);
  expect(index.runAt(view, 1000, 50)).toBeUndefined();
  expect(index.nearest(40)).toBe(0);
  expect(index.nearest(90)).toBe(1);
});
