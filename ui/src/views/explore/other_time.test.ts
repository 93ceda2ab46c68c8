import { describe, expect, it } from "vitest";
import { dayAround, withChosenRange } from "./other_time";
import { readWords, writeWords, zoomedOut } from "./words";

const TWO = 1795269600000000000n; // 2026-11-21 14:00 UTC
const MINUTE = 60_000_000_000n;
const HOUR = 60n * MINUTE;
const durations = { minNano: 250_000_001, maxNano: 1_000_000_000 };
const hour = { from: TWO, to: TWO + HOUR };
const plain = { ...readWords({ service: "shop" }), range: hour };
const part = { from: TWO + 20n * MINUTE, to: TWO + 40n * MINUTE, ...durations };
const later = TWO + 1000n * HOUR;

describe("the day around a selection", () => {
  const words = { ...plain, selection: part };
  const day = { from: TWO - 12n * HOUR + 30n * MINUTE, to: TWO + 12n * HOUR + 30n * MINUTE };
  it("has its durations, all of the time", () => {
    expect(dayAround(words, later)).toMatchObject({ service: "shop", range: day, selection: { ...day, ...durations } });
  });
  it("is undone, by an address that was sent, too", () => {
    const around = dayAround(words, later);
    expect(around && zoomedOut(around)).toEqual(words);
    expect(around && zoomedOut(readWords(writeWords(around)))).toEqual(words);
  });
  it("does not go beyond now", () => {
    const now = TWO + 2n * HOUR;
    expect(dayAround(words, now)?.range).toEqual({ from: day.from, to: now });
    // The last column has not ended yet.
    expect(dayAround(words, TWO)?.range).toEqual({ from: day.from, to: part.to });
  });
  it("is not offered where nothing is selected, or a day is", () => {
    expect(dayAround(plain, later)).toBeUndefined();
    expect(dayAround(dayAround(words, later)!, later)).toBeUndefined();
    expect(dayAround(dayAround(words, TWO)!, TWO)).toBeUndefined();
  });
});

describe("another range", () => {
  const chosen = (selection: typeof part | undefined, range: typeof hour | { since: string }, now = later) =>
    withChosenRange({ ...plain, ...(selection && { selection }) }, range, now);
  const wider = { from: TWO - HOUR, to: TWO + HOUR };
  const before = { from: TWO - 3n * HOUR, to: TWO };
  it("keeps a part of the time that it has, too", () => expect(chosen(part, wider).selection).toEqual(part));
  it("keeps durations of a part that it has not", () => {
    expect(chosen(part, before)).toMatchObject({ range: before, selection: { ...before, ...durations } });
    const half = { from: TWO + 30n * MINUTE, to: TWO + 2n * HOUR };
    expect(chosen(part, half).selection).toEqual({ ...half, ...durations });
  });
  it("keeps durations of all of the time", () => {
    expect(chosen({ ...hour, ...durations }, wider).selection).toEqual({ ...wider, ...durations });
  });
  it("may end now", () => {
    expect(chosen(part, { since: "6h" }).selection).toEqual({ from: later - 6n * HOUR, to: later, ...durations });
    expect(chosen(part, { since: "6h" }, TWO + HOUR).selection).toEqual(part);
  });
  it("selects nothing where nothing was selected", () => expect(chosen(undefined, wider).selection).toBeUndefined());
});
