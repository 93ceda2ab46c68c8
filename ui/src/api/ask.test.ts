import { afterEach, expect, it, vi } from "vitest";
import { addressOf, ask, AskError, parseExactly } from "./ask";

afterEach(() => vi.unstubAllGlobals());

it("leaves out what is not said, and repeats what is said several times", () => {
  expect(addressOf("slowest", { service: undefined, errors: false, limit: 3, where: ["a=1", "b=x y"] })).toBe(
    "/api/v1/slowest?limit=3&where=a%3D1&where=b%3Dx+y",
  );
  expect(addressOf("services")).toBe("/api/v1/services");
});

it("says what the server says of an error", async () => {
  vi.stubGlobal(
    "fetch",
    async () => new Response('{"error":{"code":"bad_request","message":"no such thing"}}', { status: 400 }),
  );
  await expect(ask("slowest")).rejects.toEqual(new AskError(400, "no such thing"));
});

it("names the cure when nobody answers", async () => {
  vi.stubGlobal("fetch", async () => {
    throw new TypeError("failed");
  });
  await expect(ask("slowest")).rejects.toMatchObject({ status: 0, away: true });
});

it("reads integers of any size exactly, and leaves texts that look like them", () => {
  const text = JSON.stringify({
    s: "x:9223372036854775807,",
    t: '\\"[1234567890123456789]',
    u: "9223372036854775807",
    "1": [],
  });
  const large = `{"a":[9223372036854775807, -9007199254740993,12],"b":{"c":1234567890123456},"d":${text},"e":12345678901234567890.5,"f":1e300}`;
  expect(parseExactly(large)).toEqual({
    a: [9223372036854775807n, -9007199254740993n, 12],
    b: { c: 1234567890123456 },
    d: JSON.parse(text),
    e: 12345678901234567890.5,
    f: 1e300,
  });
  expect(parseExactly(`9223372036854775807`)).toBe(9223372036854775807);
  expect(parseExactly('{"a":null,"b":[true,"\\u0000"]}')).toEqual({ a: null, b: [true, "\u0000"] });
});
