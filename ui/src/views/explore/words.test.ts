import { describe, expect, it } from "vitest";
import { readWords, selectionParams, viewParams, writeWords, zoomedIn, zoomedOut, type Words } from "./words";

const TWO = 1795269600000000000n; // 2026-11-21 14:00 UTC
const MINUTE = 60_000_000_000n;
const PLAIN = readWords({});
const FULL: Words = {
  range: { from: TWO, to: TWO + 60n * MINUTE },
  service: "checkout",
  operation: "POST /pay",
  where: ["tenant=acme", "odd\\key=a\nb"],
  errors: true,
  zone: "utc",
  follow: false,
  selection: { from: TWO + 1n, to: TWO + MINUTE, minNano: 250_000_001, maxNano: 1_000_000_000 },
  kept: "recorded",
  unstepped: true,
  spread: "host.name",
  sort: "-p99_nano",
  outer: [
    { range: { since: "24h" } },
    { range: { from: TWO - 60n * MINUTE, to: TWO + 120n * MINUTE }, durations: { minNano: 7, maxNano: 9_000_000_000 } },
    { range: { since: "6h" }, durations: { minNano: 7, maxNano: 8 }, times: { from: TWO - 1n, to: TWO + MINUTE } },
  ],
};

describe("the address", () => {
  it("brings back everything", () => expect(readWords(writeWords(FULL))).toEqual(FULL));
  it("goes through the browser's own encoding", () => {
    const search = new URLSearchParams(writeWords(FULL)).toString();
    expect(readWords(Object.fromEntries(new URLSearchParams(search)))).toEqual(FULL);
  });
  it("is empty by default", () => expect(writeWords(PLAIN)).toEqual({}));
  it.each(["none", '"none"', "host.name", '"', "a b"])("can spread an attribute that is called %s", (spread) => {
    expect(readWords(writeWords({ ...PLAIN, spread })).spread).toBe(spread);
  });
  it("can say that no attribute is spread", () => {
    expect(readWords(writeWords({ ...PLAIN, spread: "" })).spread).toBe("");
  });
  it("says which requests the list has", () => {
    expect(["any", "captured", "all", undefined].map((kept) => readWords({ kept }).kept)).toEqual([
      ...["any", "captured", "", ""],
    ]);
  });
  it("has no selection that cannot be one", () => {
    const query = { ...writeWords(FULL), sel_max: "12" };
    expect(readWords(query).selection).toBeUndefined();
  });
});

it("asks for exactly the selection", () => {
  expect(FULL.selection && selectionParams(FULL.selection)).toEqual({
    from: "2026-11-21T14:00:00.000000001Z",
    to: "2026-11-21T14:01:00Z",
    min_duration: "250000001ns",
    max_duration: "1000000000ns",
  });
  expect(viewParams(PLAIN)).toEqual({ since: "1h", service: "", operation: "", where: [], errors: false });
});

it("zooms into the selection, and out again to it", () => {
  const selected = { ...PLAIN, selection: FULL.selection! };
  const inside = zoomedIn(selected);
  expect(inside.range).toEqual({ from: TWO + 1n, to: TWO + MINUTE });
  expect(inside.selection).toBeUndefined();
  expect(zoomedOut(inside)).toEqual(selected);
  expect(zoomedOut(readWords(writeWords(inside)))).toEqual(selected);
  expect(zoomedOut(PLAIN)).toBe(PLAIN);
  expect(zoomedIn(PLAIN)).toBe(PLAIN);
});
