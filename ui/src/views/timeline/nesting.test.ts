import { expect, it } from "vitest";
import { nestedRows } from "./nesting";

const span = (begin: number, end: number, name = "") => ({ begin, end, name });

it("puts a child below its parent, and siblings side by side", () => {
  const rows = nestedRows([span(1, 5), span(0, 10), span(6, 9), span(2, 3)]);
  expect(rows.map((row) => row.map(({ begin }) => begin))).toEqual([[0], [1, 6], [2]]);
});

it("gives what overlaps without being nested rows of its own", () => {
  expect(nestedRows([span(0, 10), span(5, 15), span(10, 20)]).map((row) => row.length)).toEqual([2, 1]);
});

it("puts a child that outlives its parent below it all the same", () => {
  const rows = nestedRows([span(0, 10, "parent"), span(10, 15, "child")], (above) => above.name === "parent");
  expect(rows.map((row) => row.map(({ name }) => name))).toEqual([["parent"], ["child"]]);
});
