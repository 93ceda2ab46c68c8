import { expect, it } from "vitest";
import { ticksOf } from "./timeWindow";

const SECOND = 1e9;
const labels = (fromNano: number, toNano: number, most = 4) =>
  ticksOf({ fromNano, toNano }, most).map(({ label }) => label);

it("counts seconds, minutes, hours, days and years, and no tenths of them", () => {
  expect(labels(0, 90 * SECOND)).toEqual(["0", "30 s", "60 s", "90 s"]);
  expect(labels(0, 70 * SECOND)).toEqual(["0", "20 s", "40 s", "60 s"]);
  expect(labels(0, 300 * SECOND)).toEqual(["0", "2 min", "4 min"]);
  expect(labels(0, 7 * 3600 * SECOND)).toEqual(["0", "2 h", "4 h", "6 h"]);
  expect(labels(0, 2016144 * 3600 * SECOND)).toEqual(["0", "100 y", "200 y"]);
});

it("stays in one unit below a minute, with the digits that it needs", () => {
  expect(labels(0, 2 * SECOND)).toEqual(["0", "0.5 s", "1.0 s", "1.5 s", "2.0 s"]);
  expect(labels(0, 10)).toEqual(["0", "5 ns", "10 ns"]);
  expect(labels(600 * SECOND, 601 * SECOND)).toEqual(["600.0 s", "600.5 s", "601.0 s"]);
});
