// @vitest-environment jsdom
import { render } from "preact";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { useAnswer, type Answer } from "./answer";

type Reply = { readonly after: number; readonly status: number; readonly text: string };

let reply: Reply;
let asked: string[];
let seen: Answer<{ n: number }>;

function Asks({ path, every = 0 }: { path: string; every?: number }) {
  seen = useAnswer(path, {}, every);
  return null;
}

function answering(address: string, { signal }: RequestInit): Promise<Response> {
  asked.push(address);
  const { after, status, text } = reply;
  return new Promise((resolve, reject) => {
    setTimeout(() => resolve(new Response(text, { status })), after);
    signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
  });
}

const pass = async (milliseconds: number): Promise<void> => {
  for (let left = milliseconds; left > 0; left -= 100) await vi.advanceTimersByTimeAsync(Math.min(100, left));
};
const show = (path: string, every?: number): void =>
  render(<Asks path={path} {...(every !== undefined && { every })} />, document.body);
const text = (n: number): string => JSON.stringify({ n });

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  reply = { after: 100, status: 200, text: text(1) };
  vi.stubGlobal("fetch", answering);
});
afterEach(() => {
  render(null, document.body);
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

it("waits for a server that takes longer than the time between two questions", async () => {
  reply = { after: 5000, status: 200, text: text(1) };
  show("nodes", 2000);
  await pass(6000);
  expect(seen.data).toEqual({ n: 1 });
  reply = { ...reply, text: text(2) };
  await pass(9000);
  expect(seen.data).toEqual({ n: 2 });
  expect(asked.length).toBe(3);
});

it("asks a server that is away again, also where nobody follows, and keeps what it had of the same question", async () => {
  show("nodes");
  await pass(500);
  reply = { after: 100, status: 503, text: "" };
  seen.again();
  await pass(500);
  expect(seen.error?.away).toBe(true);
  expect(seen.data).toEqual({ n: 1 });
  reply = { after: 100, status: 200, text: text(2) };
  await pass(4000);
  expect(seen).toMatchObject({ data: { n: 2 }, stale: false });
  expect(seen.error).toBeUndefined();
});

it("shows the answer before while it waits, but not where the new question fails", async () => {
  show("one");
  await pass(500);
  reply = { after: 1000, status: 400, text: "" };
  show("other");
  await pass(500);
  expect(seen).toMatchObject({ data: { n: 1 }, stale: true });
  await pass(1000);
  expect(seen.data).toBeUndefined();
  expect(seen.error?.status).toBe(400);
  await pass(20_000);
  expect(asked.length).toBe(2);
});
