import { expect, it } from "vitest";
import type { SnapshotRow } from "@/api/generated/answers";
import { commandText, doubtsOf, engineText, whenOf } from "./snapshots";

const row: SnapshotRow = {
  id: "ab",
  engine: "step",
  origin: "recorded",
  taken_unix_nano: "1795226400000000001",
  received_unix_nano: "1795226401000000000",
  host: "shop-1",
  command: "/usr/bin/shop run",
  trigger: { reason: "overdue", tid: 7, trace_id: "", span_id: "" },
  bytes: 100,
  packet_bytes: 60,
  streams: 1,
  images: 5,
  missing_images: 0,
  losses: [],
  slowdown: 675986.9,
  damaged: false,
};

it("says which engine recorded, and how much slower the program was", () => {
  expect(engineText(row)).toBe("software stepper, 676,000 times slower");
  expect(engineText({ engine: "step", slowdown: 0 })).toBe("software stepper, slowdown not measured");
  expect(engineText({ engine: "intel_pt", slowdown: 0 })).toBe("Intel PT");
});

it("leaves out where a program lies, not its arguments", () => {
  expect(commandText("/tmp/a b/c")).toBe("a b/c");
  expect(commandText("/usr/bin/shop run --rate 25")).toBe("shop run --rate 25");
});

it("falls back to when it came", () => {
  expect(whenOf(row)).toEqual({ at: 1795226400000000001n, received: false });
  expect(whenOf({ ...row, taken_unix_nano: "0" })).toEqual({ at: 1795226401000000000n, received: true });
});

it("names what is missing", () => {
  expect(doubtsOf(row)).toEqual([]);
  expect(doubtsOf({ ...row, missing_images: 2, losses: [{ name: "samples that the kernel lost", count: 3 }] })).toEqual(
    ["2 of 5 images missing: gaps", "lost 3 samples that the kernel lost"],
  );
});
