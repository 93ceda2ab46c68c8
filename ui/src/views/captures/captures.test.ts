import { expect, it } from "vitest";
import type { CaptureRow } from "@/api/generated/answers";
import { doubtsOf, durationOf, questionOf } from "./captures";

const row: CaptureRow = {
  id: "c0",
  trace_id: "",
  node_id: "n0",
  host_name: "shop-1",
  service: "checkout",
  pid: 7,
  trigger: "slow",
  operation: "",
  span_id: "",
  start_time_unix_nano: "1795226400000000001",
  end_time_unix_nano: "1795226400000000900",
  received_unix_nano: "1795226401000000000",
  size_bytes: 100,
  clock: { offset_nano: 0, error_nano: 100 },
  damaged: false,
  truncated: false,
  crosses_clock_jump: false,
  losses: [],
};

it("asks for the last day, unless the address says when, or of which trace", () => {
  expect(questionOf({ view: "captures", query: {} })["since"]).toBe("1d");
  expect(questionOf({ view: "captures", query: { since: "15m" } })["since"]).toBe("15m");
  expect(questionOf({ view: "captures", query: { from: "2026-11-21" } })).toMatchObject({
    from: "2026-11-21",
    since: undefined,
  });
  expect(questionOf({ view: "captures", query: { trace_id: "ab" } })["since"]).toBeUndefined();
});

it("takes the window's length from exact instants", () => {
  expect(durationOf(row)).toBe(899);
});

it("names doubts, the gravest first, and none where there is none", () => {
  expect(doubtsOf(row)).toEqual([]);
  const { clock: _, ...without } = row;
  expect(doubtsOf({ ...without, damaged: true, losses: [{ name: "kernel_missed", count: 1200 }] })).toEqual([
    "damaged: its content is gone",
    "clock not measured",
    "lost 1,200 events of the kernel that it did not tell",
  ]);
});
