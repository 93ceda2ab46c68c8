import { describe, expect, it } from "vitest";
import { durationTicks, rowPosition, timeStep, timeTicks } from "./scales";

const TWO = 1795269600000000000n; // 2026-11-21 14:00 UTC
const labels = (ticks: { label: string }[]) => ticks.map((tick) => tick.label);

describe("time", () => {
  it("chooses round steps", () => {
    expect(timeStep(3600e9, 8)).toBe(600e9);
    expect(timeStep(900e9, 8)).toBe(120e9);
    expect(timeStep(7 * 86400e9, 8)).toBe(86400e9);
    expect(timeStep(5e6, 10)).toBe(500_000);
  });
  it("begins at the first round time, not at the range's", () => {
    const ticks = timeTicks(TWO + 90_000_000_000n, 30e9, 120, 8, "utc");
    expect(labels(ticks)).toEqual(["14:10", "14:20", "14:30", "14:40", "14:50", "15:00"]);
    expect(ticks[0]?.at).toBe(17); // 510 s of 30 s each
  });
  it("says the date at midnight", () => {
    const ticks = timeTicks(TWO, 600e9, 144, 8, "utc");
    expect(labels(ticks)).toEqual(["15:00", "18:00", "21:00", "11-22", "03:00", "06:00", "09:00", "12:00"]);
    expect(ticks.filter((tick) => tick.major)).toHaveLength(1);
  });
  it("has milliseconds and less where the range is that short", () => {
    expect(labels(timeTicks(TWO, 1e6, 4, 4, "utc"))).toEqual([
      "00:00.000",
      "00:00.001",
      "00:00.002",
      "00:00.003",
      "00:00.004",
    ]);
  });
});

describe("durations", () => {
  const bounds = [1e6, 1e7, 1e8, 1e9];
  it("lie by their logarithm", () => {
    expect(rowPosition(bounds, 1e6)).toBe(0);
    expect(rowPosition(bounds, 1e7)).toBeCloseTo(1);
    expect(rowPosition(bounds, 10 ** 7.5)).toBeCloseTo(1.5);
    expect(rowPosition(bounds, 5e9)).toBe(3);
    expect(rowPosition(bounds, 1)).toBe(0);
  });
  it("can begin at nothing", () => expect(rowPosition([0, 1000, 2000], 500)).toBeCloseTo(0.9, 1));
  it("has powers of ten first, then what fits between", () => {
    expect(labels(durationTicks(bounds, 0.9))).toEqual(["1 ms", "10 ms", "100 ms", "1 s"]);
    expect(labels(durationTicks(bounds, 0.25))).toContain("20 ms");
  });
  it("counts minutes beyond a minute", () => {
    expect(labels(durationTicks([1e9, 1e10, 1e11, 1e12], 0.5))).toEqual(["1 s", "10 s", "1 min", "10 min"]);
  });
  it("counts seconds below a minute, and years beyond days", () => {
    expect(labels(durationTicks([1e10, 3e10, 6e10], 0.3))).toEqual(["10 s", "20 s", "30 s", "40 s", "1 min"]);
    const years = Array.from({ length: 12 }, (_, power) => 10 ** (10 + power));
    for (const label of labels(durationTicks(years, 0.2))) expect(label).toMatch(/^\d+ (s|min|h|d|y)$/);
  });
});
