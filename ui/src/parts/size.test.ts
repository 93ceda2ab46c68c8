import { expect, it } from "vitest";
import { formatBytes } from "./size";

it("has three digits that count", () => {
  expect([0, 999, 1000, 27474, 999_960, 8_388_608].map(formatBytes)).toEqual([
    "0 B",
    "999 B",
    "1.00 kB",
    "27.5 kB",
    "1.00 MB",
    "8.39 MB",
  ]);
});
