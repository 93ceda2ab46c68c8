import { describe, expect, it } from "vitest";
import { formatDuration, formatExactNano, formatInstant, offsetName, setUsualZone } from "./nano";

describe("formatDuration", () => {
  it.each([
    [0, "0 ns"],
    [999, "999 ns"],
    [1_000, "1 µs"],
    [1_240_000_000, "1.24 s"],
    [83_000_000, "83 ms"],
    [123_456, "123 µs"],
    [999_600_000, "1 s"],
    [999_400_000, "999 ms"],
    [90e9, "1.5 min"],
    [-2_500_000, "−2.5 ms"],
    [7200e9, "2 h"],
    [36 * 3600e9, "1.5 d"],
    [2016144 * 3600e9, "230 y"],
  ])("%d is %s", (nano, text) => expect(formatDuration(nano)).toBe(text));
});

it("shows every nanosecond of an instant", () => {
  expect(formatInstant(1795221003123456789n, 9, "utc")).toBe("2026-11-21 00:30:03.123456789");
  expect(formatInstant(1795221003123456789n, 0, "utc")).toBe("2026-11-21 00:30:03");
});

it("groups the digits of an exact duration", () => {
  expect(formatExactNano(1240000007)).toBe("1,240,000,007 ns");
  expect(formatExactNano(12n)).toBe("12 ns");
  expect(formatExactNano(9223372036854775807n)).toBe("9,223,372,036,854,775,807 ns");
  expect(formatExactNano(9223372036854775807)).toBe("about 9,223,372,036,854,775,808 ns");
});

it("reads instants by the clock that the address says, where nobody else does", () => {
  setUsualZone("utc");
  expect(formatInstant(1795221003123456789n)).toBe("2026-11-21 00:30:03.123");
  setUsualZone("local");
  expect(formatInstant(1795221003123456789n)).toBe(formatInstant(1795221003123456789n, 3, "local"));
});

it("names the clock", () => {
  expect(offsetName("utc", 0n)).toBe("UTC");
  expect(offsetName("local", 1795221003123456789n)).toMatch(/^UTC([+−]\d\d:\d\d)?$/);
});
