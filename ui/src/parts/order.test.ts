import { expect, it } from "vitest";
import { inOrder, nextSort, readOrder, type Column } from "./order";

type Row = readonly [name: string, size?: number];
const columns: readonly Column<Row>[] = [
  { key: "name", label: "Name", value: ([name]) => name },
  { key: "size", label: "Size", kind: "number", value: ([, size]) => size },
  { key: "doubts", label: "Doubts" },
];
const rows: readonly Row[] = [["b2", 1], ["b10", 5], ["none"], ["a", 5]];
const names = (sort: string | undefined) =>
  inOrder(rows, columns, readOrder(sort, columns, "size")).map(([name]) => name);

it("has the greatest first, texts from a, what is missing last", () => {
  expect(names(undefined)).toEqual(["b10", "a", "b2", "none"]);
  expect(names("-size")).toEqual(["b2", "b10", "a", "none"]);
  expect(names("name")).toEqual(["a", "b2", "b10", "none"]);
  expect(names("-name")).toEqual(["none", "b10", "b2", "a"]);
});

it("does not sort by what is no column, or has no order", () => {
  for (const wrong of ["doubts", "nothing", "--size", ""]) expect(names(wrong)).toEqual(names("size"));
});

it("turns around where it is clicked again, and is silent where it is as always", () => {
  expect(nextSort(undefined, "size", "size")).toBe("-size");
  expect(nextSort("-size", "size", "size")).toBeUndefined();
  expect(nextSort(undefined, "name", "size")).toBe("name");
  expect(nextSort("name", "name", "size")).toBe("-name");
});
