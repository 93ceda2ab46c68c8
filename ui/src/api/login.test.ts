// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";

beforeEach(() => vi.resetModules());
afterEach(() => {
  vi.unstubAllGlobals();
  localStorage.clear();
  sessionStorage.clear();
  window.history.replaceState(null, "", "/");
});

function stubAnswer(response: () => Response): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (address: string, { method }: RequestInit) => {
    asked.push(`${method} ${address}`);
    return response();
  });
  return asked;
}

it("exchanges the code of the address for a token, which other tabs find, too", async () => {
  const asked = stubAnswer(() => new Response('{"token":"secret"}'));
  window.history.replaceState(null, "", "/services?since=1h#login=c0de");
  const { login, loginProblem } = await import("./login");
  await login();
  expect(asked).toEqual(["POST /api/v1/page-links/c0de"]);
  expect(window.location.href).toMatch(/\/services\?since=1h$/);
  expect(loginProblem.value).toBe("");
  vi.resetModules();
  sessionStorage.clear();
  expect((await import("./token")).credentials()).toEqual({ authorization: "Bearer secret" });
});

it("says why a code gave no token", async () => {
  stubAnswer(() => new Response('{"error":{"message":"used"}}', { status: 404 }));
  window.history.replaceState(null, "", "/#login=old");
  const { login, loginProblem } = await import("./login");
  await login();
  expect(loginProblem.value).toMatch(/fathom page/);
  expect((await import("./token")).credentials()).toEqual({});
});

it("asks nothing without a code", async () => {
  const asked = stubAnswer(() => new Response("{}"));
  window.history.replaceState(null, "", "/#elsewhere");
  const { login } = await import("./login");
  await login();
  expect(asked).toEqual([]);
  expect(window.location.hash).toBe("#elsewhere");
});
