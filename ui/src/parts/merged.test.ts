import { expect, it } from "vitest";
import { merged } from "./merged";

it("shows a row once that moved to a later page meanwhile", () => {
  expect(merged(["new", "a", "b"], ["b", "c"], (row) => row)).toEqual(["new", "a", "b", "c"]);
});
