import { expect, it } from "vitest";
import { nextSort, readOrder, serviceRows, sorted } from "./rows";

const percentiles = { p90_nano: 0, p95_nano: 0, p999_nano: 0, max_nano: 0 };
const service = (name: string, spans: number, errors: number, p99: number) => ({
  ...{ service: name, service_namespace: "", operations: 1, spans, errors, p50_nano: 1, p99_nano: p99 },
  ...percentiles,
});
const rows = serviceRows([service("b", 600, 6, 5), service("a", 60, 30, 9), service("c", 0, 0, 9)], 60);
const names = (sort: string) => sorted(rows, readOrder(sort)).map((row) => row.name);

it("has rates by the second and errors as a share", () => {
  expect(rows.map((row) => [row.rate, row.errorShare])).toEqual([
    [10, 0.01],
    [1, 0.5],
    [0, 0],
  ]);
});

it("sorts by what is clicked, the greatest first, then the other way", () => {
  expect(names("rate")).toEqual(["b", "a", "c"]);
  expect(names("-rate")).toEqual(["c", "a", "b"]);
  expect(names("p99_nano")).toEqual(["a", "c", "b"]);
  expect(names("name")).toEqual(["a", "b", "c"]);
  expect(names("nonsense")).toEqual(["b", "a", "c"]);
  expect(nextSort("rate", "rate")).toBe("-rate");
  expect(nextSort("-rate", "rate")).toBe("rate");
  expect(nextSort("rate", "p50_nano")).toBe("p50_nano");
});
