import { expect, it } from "vitest";
import type { SnapshotRing } from "@/api/generated/answers";
import { arcPath, changeText, columnsOf, columnsOfBuckets, extentOf, ringBeside, ringPixels, labelOf } from "./shapes";

it("puts bars together where there is no room for all, and loses none", () => {
  const bars = Array.from({ length: 25 }, (_, at) => ({ low: at, high: at + 1, count: at }));
  const columns = columnsOf(bars, 10);
  expect(columns.length).toBeLessThanOrEqual(10);
  expect(columns.reduce((sum, { count }) => sum + count, 0)).toBe(300);
  expect([columns[0]?.low, columns[columns.length - 1]?.high]).toEqual([0, 25]);
  expect(columnsOf([], 10)).toEqual([]);
});

it("spreads buckets over a logarithmic axis, and loses none", () => {
  const buckets = [
    { above: 99, up_to: 101, count: 5 },
    { above: 990, up_to: 1010, count: 2 },
    { above: 99_000, up_to: 101_000, count: 1 },
  ];
  const columns = columnsOfBuckets({ count: 8, buckets }, 30);
  expect(columns.map(({ count }) => count).reduce((sum, count) => sum + count)).toBe(8);
  expect(columns.filter(({ count }) => count > 0).length).toBe(3);
  expect(columns.findIndex(({ count }) => count === 2)).toBe(10);
  expect(columnsOfBuckets({ count: 0, buckets: [] }, 30)).toEqual([]);
  expect(columnsOfBuckets({ count: 1, buckets: [{ above: 0, up_to: 0, count: 1 }] }, 3)[0]?.count).toBe(1);
});

const ring = (id: number, parent: number | null, depth: number, from: number, to: number): SnapshotRing => ({
  ...{ id, parent, ring: depth, from, to },
  ...{ name: `f${id}`, calls: 1, instructions: 1, total_instructions: 2 },
});
const RINGS = [ring(0, null, 0, 0, 1), ring(1, 0, 1, 0, 0.5), ring(2, 1, 2, 0, 0.25), ring(3, 0, 1, 0.5, 0.75)];

it("draws arcs, whole circles among them", () => {
  expect(ringPixels(RINGS)).toBe(100);
  expect(arcPath(RINGS[0] as SnapshotRing, 100)).toBe("M 0.00 -99.00 A 99 99 0 1 1 -0.12 -99.00 L 0 0 Z");
  expect(arcPath(RINGS[1] as SnapshotRing, 100)).toMatch(/^M 0.00 -199.00 A 199 199 0 0 1 0.00 199.00 L 0.00 100.00/);
});

it("goes from ring to ring", () => {
  const [root, one, two, three] = RINGS as [SnapshotRing, SnapshotRing, SnapshotRing, SnapshotRing];
  expect(ringBeside(RINGS, root, "in")).toBe(one);
  expect(ringBeside(RINGS, two, "out")).toBe(one);
  expect(ringBeside(RINGS, one, "next")).toBe(three);
  expect(ringBeside(RINGS, three, "next")).toBe(one);
  expect(ringBeside(RINGS, one, "previous")).toBe(three);
  expect(ringBeside(RINGS, root, "out")).toBe(root);
});

it("says what changed", () => {
  expect([changeText(1, 1), changeText(1, 1201), changeText(9, 2)]).toEqual(["", "+1,200", "−7"]);
});

it("names an arc where there is room, along it and never upside down", () => {
  const ring = (from: number, to: number) =>
    ({ id: 1, parent: 0, ring: 2, from, to, name: "f", instructions: 1, total_instructions: 1, calls: 1 }) as const;
  expect(labelOf(ring(0, 0.01), 60)).toBeUndefined();
  expect(labelOf(ring(0, 0.2), 10)).toBeUndefined();
  const top = labelOf(ring(0, 0.1), 60);
  expect(top?.turn).toBeCloseTo(18);
  expect(top?.letters).toBeGreaterThan(8);
  expect(labelOf(ring(0.45, 0.55), 60)?.turn).toBeCloseTo(0);
  expect(labelOf(ring(0.45, 0.55), 60)?.y).toBeCloseTo(150);
});

it("takes no more room than the arcs do", () => {
  const whole = extentOf([ring(0, null, 0, 0, 1), ring(1, 0, 1, 0, 1)], 10);
  expect(whole).toEqual({ left: -20, top: -20, width: 40, height: 40 });
  // A deep stack of calls in the first quarter alone: up and to the right.
  const { left, top, width, height } = extentOf([ring(0, null, 0, 0, 1), ring(1, 0, 9, 0, 0.25)], 10);
  expect([left, top, width, height].map(Math.round)).toEqual([-10, -100, 110, 110]);
});
