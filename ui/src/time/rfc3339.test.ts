import { expect, it } from "vitest";
import { readInstant, sentInstant, writeInstant } from "./rfc3339";

it.each([
  [1795221003000000000n, "2026-11-21T00:30:03Z"],
  [1795221003000000007n, "2026-11-21T00:30:03.000000007Z"],
  [1795221003500000000n, "2026-11-21T00:30:03.5Z"],
  [-1n, "1969-12-31T23:59:59.999999999Z"],
])("%d is %s, and back", (at, text) => {
  expect(writeInstant(at)).toBe(text);
  expect(readInstant(text)).toBe(at);
});

it("tells the server no bare digits, and nothing that it has no numbers for", () => {
  expect(sentInstant(5_000_000_000n)).toBe("1970-01-01T00:00:05Z");
  expect(sentInstant(1795221003000000007n)).toBe("2026-11-21T00:30:03.000000007Z");
  expect(sentInstant(-1n)).toBe("1970-01-01T00:00:00Z");
  expect(sentInstant(2n ** 65n)).toBe("2554-07-21T23:34:33.709551615Z");
});

it.each(["1795455000", "1795455000000", "1795455000000000", "1795455000000000000"])(
  "reads %s by its magnitude, as the server does",
  (text) => expect(readInstant(text)).toBe(1795455000000000000n),
);

it("reads whole nanoseconds, and minutes", () => {
  expect(readInstant("1795221003000000007")).toBe(1795221003000000007n);
  expect(readInstant("2026-11-21T00:30Z")).toBe(1795221000000000000n);
});

it.each([undefined, "", "yesterday", "2026-11-21", "2026-13-41T00:00:00Z", "2026-02-30T00:00:00Z", "12"])(
  "%s is no instant",
  (text) => {
    expect(readInstant(text)).toBeUndefined();
  },
);
