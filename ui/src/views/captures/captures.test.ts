import { expect, it } from "vitest";
import type { CaptureRow } from "@/api/generated/answers";
import { countsOf, doubtsOf, durationOf, lastingAtLeast, questionOf } from "./captures";

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

const place = (query: Record<string, string>) => ({ view: "captures", query }) as const;

it("asks for the last day, unless the address says when, or of which trace", () => {
  expect(questionOf(place({}))).toMatchObject({ since: "24h", trigger: undefined });
  expect(questionOf(place({ since: "15m", trigger: "slow" }))).toMatchObject({ since: "15m", trigger: "slow" });
  const between = questionOf(place({ from: "2026-11-21T14:00:00Z", to: "2026-11-21T15:00:00Z" }));
  expect(between).toMatchObject({ from: "2026-11-21T14:00:00Z", to: "2026-11-21T15:00:00Z" });
  expect(between["since"]).toBeUndefined();
  expect(questionOf(place({ trace_id: "ab" }))["since"]).toBeUndefined();
});

it("counts all triggers, whichever is chosen", () => {
  expect(questionOf(place({ trigger: "slow", service: "pay" }), "")).toMatchObject({
    trigger: undefined,
    service: "pay",
  });
  const rows = [row, { ...row, trigger: "error" as const }, { ...row, trigger: "error" as const }];
  expect(countsOf(rows, undefined)).toEqual([
    ["error", 2],
    ["slow", 1],
  ]);
  expect(countsOf([], "crash")).toEqual([["crash", 0]]);
});

it("leaves out short windows where that is asked for", () => {
  const long = { ...row, end_time_unix_nano: "1795226400020000001" };
  expect(lastingAtLeast([row, long], "20ms")).toEqual([long]);
  expect(lastingAtLeast([row, long], "21ms")).toEqual([]);
  for (const text of [undefined, "", "long"]) expect(lastingAtLeast([row, long], text)).toHaveLength(2);
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
