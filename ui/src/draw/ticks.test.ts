import { expect, it } from "vitest";
import { labelLeft } from "./axis";
import { tickLabel, ticksOf } from "./ticks";

it("has round steps from hours to a nanosecond", () => {
  expect(ticksOf(0, 7_200e9, 8).step).toBe(900e9);
  expect(ticksOf(0, 10e9, 8).step).toBe(2e9);
  expect(ticksOf(0, 1e6, 8).step).toBe(200e3);
  expect(ticksOf(0, 20, 8).step).toBe(5);
  expect(ticksOf(0, 5, 8).step).toBe(1);
});

it("begins with the first that is in sight, also before the start", () => {
  expect(ticksOf(-25, 50, 5).at).toEqual([-20, -10, 0, 10, 20]);
  expect(ticksOf(1001, 20, 4).at).toEqual([1005, 1010, 1015, 1020]);
});

it("writes no digit too many and none too few", () => {
  expect(tickLabel(2e9, 1e9, 10e9)).toBe("2 s");
  expect(tickLabel(1_234_567, 1, 2e6)).toBe("1.234\u2009567 ms");
  expect(tickLabel(-1_500_000, 500_000, 3e6)).toBe("−1.5 ms");
  expect(tickLabel(0, 5, 20)).toBe("0 ns");
});

it("writes a label before its tick where it would be cut off behind it", () => {
  expect(labelLeft(100, 50, 400)).toBe(103);
  expect(labelLeft(347, 50, 400)).toBe(350);
  expect(labelLeft(348, 50, 400)).toBe(295);
  expect(labelLeft(20, 50, 60)).toBe(0);
});
