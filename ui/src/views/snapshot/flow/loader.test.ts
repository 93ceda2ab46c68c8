import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { AskError } from "@/api/ask";
import { Loader } from "./loader";
import { Lru } from "./lru";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Asked {
  readonly key: string;
  readonly signal: AbortSignal;
  readonly answer: (value: string) => void;
  readonly refuse: (error: AskError) => void;
}

function made(most = 10, atOnce = 2) {
  const asked: Asked[] = [];
  const changed = vi.fn();
  const loader = new Loader<string>({
    load: (key, signal) => new Promise((answer, refuse) => asked.push({ key, signal, answer, refuse })),
    most,
    atOnce,
    changed,
  });
  return { asked, changed, loader, keys: () => asked.map(({ key }) => key) };
}

it("keeps what was looked at last", () => {
  const lru = new Lru<number>(2);
  lru.set("a", 1);
  lru.set("b", 2);
  expect(lru.get("a")).toBe(1);
  lru.set("c", 3);
  expect([lru.has("a"), lru.has("b"), lru.has("c"), lru.size]).toEqual([true, false, true, 2]);
});

it("asks for what is in sight, the most urgent first, a few at a time", async () => {
  const { asked, keys, loader, changed } = made();
  loader.want(["middle", "left", "right"]);
  expect(keys()).toEqual([]);
  await vi.advanceTimersByTimeAsync(50);
  expect(keys()).toEqual(["middle", "left"]);
  asked[0]?.answer("M");
  await vi.advanceTimersByTimeAsync(0);
  expect(keys()).toEqual(["middle", "left", "right"]);
  expect(loader.get("middle")).toBe("M");
  expect(loader.waits).toBe(true);
  expect(changed).toHaveBeenCalledTimes(1);
});

it("asks for nothing that is only passed by, and gives up what is out of sight", async () => {
  const { asked, keys, loader } = made();
  for (const key of ["a", "b", "c"]) {
    loader.want([key]);
    await vi.advanceTimersByTimeAsync(10);
  }
  await vi.advanceTimersByTimeAsync(50);
  expect(keys()).toEqual(["c"]);
  loader.want(["d"]);
  expect(asked[0]?.signal.aborted).toBe(true);
  asked[0]?.answer("late");
  await vi.advanceTimersByTimeAsync(50);
  expect(loader.get("c")).toBeUndefined();
  expect(keys()).toEqual(["c", "d"]);
});

it("asks on the way, too, when the view does not come to rest", async () => {
  const { keys, loader } = made();
  for (let at = 0; at < 30; ++at) {
    loader.want(["far", `at ${at}`]);
    await vi.advanceTimersByTimeAsync(16);
  }
  expect(keys()).toContain("far");
});

it("forgets the oldest, never what is in sight", async () => {
  const { asked, loader } = made(2, 9);
  loader.want(["a", "b"]);
  await vi.advanceTimersByTimeAsync(50);
  asked.forEach(({ answer, key }) => answer(key));
  await vi.advanceTimersByTimeAsync(0);
  loader.want(["b", "c"]);
  await vi.advanceTimersByTimeAsync(50);
  asked[2]?.answer("c");
  await vi.advanceTimersByTimeAsync(0);
  expect([loader.has("a"), loader.has("b"), loader.has("c")]).toEqual([false, true, true]);
});

it("tells what failed, and asks again when told to", async () => {
  const { asked, keys, loader } = made();
  loader.want(["a"]);
  await vi.advanceTimersByTimeAsync(50);
  asked[0]?.refuse(new AskError(400, "no such thread"));
  await vi.advanceTimersByTimeAsync(5000);
  expect(loader.problem?.message).toBe("no such thread");
  expect([loader.waits, keys().length]).toEqual([false, 1]);
  loader.again();
  expect(keys()).toEqual(["a", "a"]);
  asked[1]?.answer("A");
  await vi.advanceTimersByTimeAsync(0);
  expect([loader.problem, loader.get("a")]).toEqual([undefined, "A"]);
});

it("asks again by itself when the server was away", async () => {
  const { asked, keys, loader } = made();
  loader.want(["a"]);
  await vi.advanceTimersByTimeAsync(50);
  asked[0]?.refuse(new AskError(503, "busy"));
  await vi.advanceTimersByTimeAsync(2000);
  expect(keys()).toEqual(["a", "a"]);
  loader.close();
  expect(asked[1]?.signal.aborted).toBe(true);
});
