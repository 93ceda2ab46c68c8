import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ask, askFile, AskError } from "./ask";

beforeEach(() => vi.resetModules());
afterEach(() => vi.unstubAllGlobals());

function stubStorage(kept: Map<string, string>): void {
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
  });
}

it("sends nothing until it is given a token, and then that one", async () => {
  const kept = new Map<string, string>();
  stubStorage(kept);
  const { credentials, keepToken } = await import("./token");
  expect(credentials()).toEqual({});
  keepToken(" secret \n");
  expect(credentials()).toEqual({ authorization: "Bearer secret" });
  expect([...kept.values()]).toEqual(["secret"]);
});

it("finds the token that the tab has kept", async () => {
  stubStorage(new Map([["fathom.token", "of before"]]));
  const { credentials } = await import("./token");
  expect(credentials()).toEqual({ authorization: "Bearer of before" });
});

it("is nothing that a request cannot say", async () => {
  stubStorage(new Map([["fathom.token", "“of before”"]]));
  const { credentials, tokenProblem } = await import("./token");
  expect(credentials()).toEqual({});
  expect(tokenProblem(" secret+/=-._~ \n")).toBeUndefined();
  expect(tokenProblem("“secret”")).toMatch(/no ““”/);
  expect(tokenProblem("sec\nret")).toMatch(/U\+000A/);
  expect(tokenProblem("sec\u200bret")).toMatch(/U\+200B/);
});

it("lasts as long as the page where nothing may be kept", async () => {
  vi.stubGlobal("sessionStorage", {
    getItem: () => null,
    setItem: () => {
      throw new DOMException("forbidden", "SecurityError");
    },
  });
  const { credentials, keepToken } = await import("./token");
  keepToken("secret");
  expect(credentials()).toEqual({ authorization: "Bearer secret" });
});

it("is asked for by a refusal that can be told from others", async () => {
  stubStorage(new Map());
  vi.stubGlobal("fetch", async () => new Response('{"error":{"message":"a token is missing"}}', { status: 401 }));
  await expect(ask("services")).rejects.toEqual(new AskError(401, "a token is missing"));
  expect(new AskError(401, "").wantsToken).toBe(true);
  expect(new AskError(403, "").wantsToken).toBe(false);
});

it("goes with files that are saved, too", async () => {
  stubStorage(new Map([["fathom.token", "secret"]]));
  vi.stubGlobal("fetch", async (_: string, { headers }: { headers: Record<string, string> }) =>
    headers["authorization"] === "Bearer secret" ? new Response("bytes") : new Response("", { status: 401 }),
  );
  expect(await (await askFile("/api/v1/traces/1/perfetto")).text()).toBe("bytes");
});
