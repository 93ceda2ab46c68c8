import { expect, it } from "vitest";
import { writeInstant } from "./rfc3339";
import { parseRange, parseWhen, writeWhen } from "./when";

const NOW = 1795365000000000000n; // Sunday, 2026-11-22 16:30 UTC

it.each([
  ["now", "2026-11-22T16:30:00Z"],
  ["now-15m", "2026-11-22T16:15:00Z"],
  ["now + 1h", "2026-11-22T17:30:00Z"],
  ["yesterday 14:00", "2026-11-21T14:00:00Z"],
  ["Yesterday 14", "2026-11-21T14:00:00Z"],
  ["yesterday 15 h", "2026-11-21T15:00:00Z"],
  ["yesterday", "2026-11-21T00:00:00Z"],
  ["today 00:00", "2026-11-22T00:00:00Z"],
  ["14:15", "2026-11-22T14:15:00Z"],
  ["14:15:07.5", "2026-11-22T14:15:07.5Z"],
  ["fri 9:30", "2026-11-20T09:30:00Z"],
  ["sunday 8h", "2026-11-15T08:00:00Z"],
  ["2026-11-19", "2026-11-19T00:00:00Z"],
  ["2026-11-19 24:00", "2026-11-20T00:00:00Z"],
  ["2026-11-19T07:05", "2026-11-19T07:05:00Z"],
  ["2026-11-19T07:05:00.000000001Z", "2026-11-19T07:05:00.000000001Z"],
  ["11-01 12", "2026-11-01T12:00:00Z"],
  ["yesterday 2pm", "2026-11-21T14:00:00Z"],
  ["yesterday 2:30 pm", "2026-11-21T14:30:00Z"],
  ["12am", "2026-11-22T00:00:00Z"],
  ["12 pm", "2026-11-22T12:00:00Z"],
  ["14:00 yesterday", "2026-11-21T14:00:00Z"],
  ["14 h yesterday", "2026-11-21T14:00:00Z"],
  ["9:30 2026-11-19", "2026-11-19T09:30:00Z"],
  ["2026-11-21 14:00:00Z", "2026-11-21T14:00:00Z"],
  ["2026-11-21 14:00 UTC", "2026-11-21T14:00:00Z"],
  ["2026-11-21T14:00:00.25+02:00", "2026-11-21T12:00:00.25Z"],
  ["2026-11-21 14:00 -0530", "2026-11-21T19:30:00Z"],
  ["1795269600", "2026-11-21T14:00:00Z"],
  ["1795269600.5", "2026-11-21T14:00:00.5Z"],
  ["1795269600123", "2026-11-21T14:00:00.123Z"],
  ["1795269600000000007", "2026-11-21T14:00:00.000000007Z"],
])("%s is %s", (text, instant) => {
  const at = parseWhen(text, NOW, "utc");
  expect(at === undefined ? undefined : writeInstant(at)).toBe(instant);
});

it.each([
  "",
  "soon",
  "25:00",
  "14:75",
  "13-41",
  "yesterday 14 15",
  "now-soon",
  "su 14",
  "13pm",
  "0am",
  "14:00-15:00",
  "12345",
])("%s says nothing", (text) => {
  expect(parseWhen(text, NOW, "utc")).toBeUndefined();
});

it("means the reader's own clock where the reader sees local time", () => {
  const noon = new Date(2026, 10, 21, 12).getTime();
  expect(parseWhen("2026-11-21 12:00", NOW, "local")).toBe(BigInt(noon) * 1_000_000n);
});

it.each([
  ["yesterday 14:00", "yesterday 15:00"],
  ["yesterday 14", "15"],
  ["2026-11-21 14:00", "15 h"],
  ["yesterday 14-15 h", ""],
  ["yesterday 14:00 – 15:00", "now"],
])("%s to %s is yesterday from two to three", (from, to) => {
  expect(parseRange(from, to, NOW, "utc")).toEqual({ from: 1795269600000000000n, to: 1795273200000000000n });
});

it("keeps until now what is until now, and says what is wrong", () => {
  expect(parseRange("now-2h", "now", NOW, "utc")).toEqual({ since: "2h" });
  expect(parseRange("14:00", "", NOW, "utc")).toEqual({ from: NOW - 9_000_000_000_000n, to: NOW });
  expect(parseRange("soon", "now", NOW, "utc")).toHaveProperty("problem");
  expect(parseRange("14:00", "13:00", NOW, "utc")).toEqual({ problem: "The range ends before it begins." });
});

it("leaves alone what nobody changed: the clock may show an instant twice", () => {
  const kept = { from: 1795269600000000007n };
  expect(parseRange("what it says", "15:00", NOW, "utc", kept)).toEqual({ ...kept, to: 1795273200000000000n });
  expect(parseRange("14:00", "now", NOW, "utc", { to: NOW - 1n })).toEqual({
    from: NOW - 9_000_000_000_000n,
    to: NOW - 1n,
  });
});

it.each(["2026-04-31 14:00", "2026-02-29", "02-30 14:00", "2026-13-01", "2026-00-10"])("%s is no day", (text) => {
  expect(parseWhen(text, NOW, "utc")).toBeUndefined();
  expect(parseRange(text, "now", NOW, "utc")).toHaveProperty("problem");
});

it("takes a zone that is written for that, whatever the reader sees", () => {
  expect(parseWhen("2026-11-21 14:00:00Z", NOW, "local")).toBe(1795269600000000000n);
  expect(parseWhen("2026-11-21 16:00+02:00", NOW, "local")).toBe(1795269600000000000n);
});

it.each([
  [1795269600000000000n, "2026-11-21 14:00"],
  [1795269610000000000n, "2026-11-21 14:00:10"],
  [1795269610500000000n, "2026-11-21 14:00:10.5"],
  [1795269600000000010n, "2026-11-21 14:00:00.00000001"],
])("%d is written as %s, and read again", (at, text) => {
  expect(writeWhen(at, "utc")).toBe(text);
  expect(parseWhen(text, NOW, "utc")).toBe(at);
  expect(parseWhen(writeWhen(at, "local"), NOW, "local")).toBe(at);
});
