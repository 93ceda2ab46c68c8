import { expect, it } from "vitest";
import { readInstant, writeInstant } from "./rfc3339";

it.each([
  [1795221003000000000n, "2026-11-21T00:30:03Z"],
  [1795221003000000007n, "2026-11-21T00:30:03.000000007Z"],
  [1795221003500000000n, "2026-11-21T00:30:03.5Z"],
  [-1n, "1969-12-31T23:59:59.999999999Z"],
])("%d is %s, and back", (at, text) => {
  expect(writeInstant(at)).toBe(text);
  expect(readInstant(text)).toBe(at);
});

it("reads whole nanoseconds, and minutes", () => {
  expect(readInstant("1795221003000000007")).toBe(1795221003000000007n);
  expect(readInstant("2026-11-21T00:30Z")).toBe(1795221000000000000n);
});

it.each([undefined, "", "yesterday", "2026-11-21", "2026-13-41T00:00:00Z", "12"])("%s is no instant", (text) => {
  expect(readInstant(text)).toBeUndefined();
});
