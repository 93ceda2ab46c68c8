import { expect, it } from "vitest";
import { flippedIn, readClosed, unfolded } from "./folding";

const rows = [
  { id: 0, parent: null },
  { id: 1, parent: 0 },
  { id: 2, parent: 1 },
  { id: 5, parent: 2 },
  { id: 3, parent: 0 },
];
const ids = (closed: string) => unfolded(rows, readClosed(closed)).map(({ row }) => row.id);

it("hides what is below a closed row, however deep", () => {
  expect(ids("")).toEqual([0, 1, 2, 5, 3]);
  expect(ids("1")).toEqual([0, 1, 3]);
  expect(ids("0")).toEqual([0]);
  expect(unfolded(rows, new Set()).map(({ below }) => below)).toEqual([true, true, true, false, false]);
});

it("is in the address, and comes back", () => {
  expect(flippedIn(readClosed("3,1"), 2)).toBe("1,2,3");
  expect(flippedIn(readClosed("3"), 3)).toBeUndefined();
  expect([...readClosed("1,x,-2,3.5,")]).toEqual([1]);
});
