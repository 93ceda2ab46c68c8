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
  const { attributes } = parseExactly(`{"attributes":${large}}`) as { attributes: unknown };
  expect(attributes).toEqual({
    a: [9223372036854775807n, -9007199254740993n, 12],
    b: { c: 1234567890123456 },
    d: JSON.parse(text),
    e: 12345678901234567890.5,
    f: 1e300,
  });
  expect(parseExactly(`9223372036854775807`)).toBe(9223372036854775807);
  expect(parseExactly('{"a":null,"b":[true,"\\u0000"]}')).toEqual({ a: null, b: [true, "\u0000"] });
});

it.each([
  ["slowest", '{"rows":[{"duration_nano":31536000000000000,"root_duration_nano":9223372036854775807}]}'],
  ["heatmap", '{"row_bounds_nano":[0,1,9223372036854775807],"max_nano":9223372036854775807,"cells":[[0,1,1,0]]}'],
  ["services", '{"services":[{"p50_nano":12,"p999_nano":9223372036854775807,"max_nano":9223372036854775807}]}'],
  ["nodes", '{"nodes":[{"clock":{"offset_nano":-1795454000123456789,"error_nano":12}}]}'],
  ["timeline", '{"duration_nano":31536000000000000,"processes":[{"threads":[{"offset_nano":-31536000000000001}]}]}'],
])("has numbers for whatever one reckons with: %s", (_, text) => {
  expect(parseExactly(text)).toEqual(JSON.parse(text));
});

it("has what programs said exactly, and nothing else", () => {
  const trace = `{"duration_nano":9007199254740993,"spans":[{"attributes":{"a":[9007199254740993]},"events":[
    {"attributes":{"b":{"c":9007199254740995}}}]}],"resources":[{"attributes":{"d":9007199254740997}}]}`;
  expect(parseExactly(trace)).toEqual({
    duration_nano: 9007199254740992,
    spans: [{ attributes: { a: [9007199254740993n] }, events: [{ attributes: { b: { c: 9007199254740995n } } }] }],
    resources: [{ attributes: { d: 9007199254740997n } }],
  });
  expect(parseExactly('{"events":[{"offset_nano":9007199254740993,"values":{"x":9007199254740993}}]}')).toEqual({
    events: [{ offset_nano: 9007199254740992, values: { x: 9007199254740993n } }],
  });
});
