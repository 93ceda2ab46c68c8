// @vitest-environment jsdom
import { expect, it } from "vitest";
import { noteLostBatches } from "@/api/lost_batches";
import { go } from "./navigation";
import { lostBatches, lostBatchesText } from "./lost_batches";

const LOST = {
  losses: 1,
  first_received_unix_nano: "1795221000000000000",
  last_received_unix_nano: "1795221060000000000",
  most_batches: 1200,
};

it("reports how many batches are lost, and when they were received", () => {
  expect(lostBatchesText(LOST)).toMatch(/^Damage .* at most 1,200 batches of spans, received between .*2026-11-21/);
  expect(lostBatchesText({ ...LOST, most_batches: 1 })).toContain("at most 1 batch of spans");
  expect(lostBatchesText({ ...LOST, most_batches: null })).toContain("an unknown number of batches");
  expect(lostBatchesText({ ...LOST, most_batches: 0 })).toMatch(/disk may have destroyed captures, received between/);
});

it("shows the mark until the reader goes to another view or time", () => {
  go({ view: "explore", query: { since: "1h" } });
  noteLostBatches({ rows: [] });
  expect(lostBatches.value).toBeUndefined();
  noteLostBatches({ rows: [], lost_batches: LOST });
  expect(lostBatches.value).toEqual(LOST);
  go({ view: "explore", query: { since: "1h", service: "pay" } }, "replace");
  expect(lostBatches.value).toEqual(LOST);
  go({ view: "explore", query: { since: "5m" } });
  expect(lostBatches.value).toBeUndefined();
});
