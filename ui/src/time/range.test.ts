import { describe, expect, it } from "vitest";
import {
  between,
  formatBetween,
  lengthNano,
  rangeParams,
  rangeProblem,
  rangeWords,
  readRange,
  type Range,
} from "./range";
import { sinceNano } from "./since";

const HOUR = 3_600_000_000_000n;
const TWO = 1795269600000000000n; // 2026-11-21 14:00 UTC

describe("the address", () => {
  it.each<Range>([{ since: "15m" }, { since: "1h" }, { from: TWO, to: TWO + HOUR }, { from: TWO + 7n, to: TWO + 9n }])(
    "brings back %o",
    (range) => expect(readRange(rangeWords(range))).toEqual(range),
  );
  it("shows the last hour where it says nothing that can be read", () => {
    expect(readRange({})).toEqual({ since: "1h" });
    expect(readRange({ since: "soon" })).toEqual({ since: "1h" });
    expect(readRange({ from: "2026-11-21T15:00:00Z", to: "2026-11-21T14:00:00Z" })).toEqual({ since: "1h" });
  });
  it("takes what the fields take", () => {
    const now = TWO + 26n * HOUR; // the next day, at four
    expect(readRange({ from: "now-24h", to: "now" })).toEqual({ since: "24h" });
    expect(readRange({ from: "yesterday 14:00", to: "15:00", zone: "utc" }, now)).toEqual({
      from: TWO,
      to: TWO + HOUR,
    });
    expect(readRange({ from: "1795269600", to: "1795273200" })).toEqual({ from: TWO, to: TWO + HOUR });
    expect(readRange({ from: "1795269600" }, now)).toEqual({ from: TWO, to: now });
    expect(readRange({ from: "1795269600000000", to: "1795273200000000" })).toEqual({ from: TWO, to: TWO + HOUR });
    expect(rangeProblem({ from: "now-24h", to: "now" })).toBeUndefined();
    expect(rangeProblem({})).toBeUndefined();
  });
  it("says what it does not understand, and what is shown instead", () => {
    expect(rangeProblem({ from: "banana" })).toMatch(/banana.*The last hour is shown/);
    expect(rangeProblem({ from: "now-1h", to: "banana" })).toMatch(/banana/);
    expect(rangeProblem({ from: "2026-02-30T00:00:00Z", to: "2026-03-04T00:00:00Z" })).toMatch(
      /2026-02-30.* is no time/,
    );
    expect(rangeProblem({ to: "now" })).toMatch(/from/);
    expect(rangeProblem({ since: "soon" })).toMatch(/since=soon/);
    expect(rangeProblem({ from: "2026-11-21T15:00:00Z", to: "2026-11-21T14:00:00Z" })).toMatch(/ends before it begins/);
  });
});

it("tells the server whole nanoseconds", () => {
  expect(rangeParams({ from: TWO + 7n, to: TWO + 9n })).toEqual({
    from: "2026-11-21T14:00:00.000000007Z",
    to: "2026-11-21T14:00:00.000000009Z",
  });
});

it("knows how long a range is", () => {
  expect(sinceNano("1h30m")).toBe(5_400_000_000_000n);
  expect(sinceNano("250ms")).toBe(250_000_000n);
  expect(sinceNano("0s")).toBeUndefined();
  expect(lengthNano({ since: "15m" })).toBe(900e9);
  expect(lengthNano({ from: TWO, to: TWO + HOUR })).toBe(3600e9);
  expect(between({ since: "1h" }, TWO)).toEqual({ from: TWO - HOUR, to: TWO });
});

it("says a range to people, with no more digits than it needs", () => {
  expect(formatBetween({ from: TWO, to: TWO + HOUR }, "utc")).toBe("2026-11-21 14:00 – 15:00");
  expect(formatBetween({ from: TWO, to: TWO + 24n * HOUR }, "utc")).toBe("2026-11-21 14:00 – 2026-11-22 14:00");
  expect(formatBetween({ from: TWO, to: TWO + 1_500_000_000n }, "utc")).toBe("2026-11-21 14:00:00 – 14:00:01.500");
  expect(formatBetween({ from: TWO + 7n, to: TWO + 20n }, "utc")).toBe(
    "2026-11-21 14:00:00.000000007 – 14:00:00.000000020",
  );
});
