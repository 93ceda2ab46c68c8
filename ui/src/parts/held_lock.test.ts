import { expect, it } from "vitest";
import { findHeldLock, heldPlace, ownDepth, type Asker } from "./held_lock";

const LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6";
const FUNCTIONS = [
  { name: "shop::Shelves::snapshot()", image: "/opt/shop", file: "shop/shelves.cc", line: 78 },
  { name: "fprintf", image: LIBC, file: "stdio-common/fprintf.c", line: 27 },
];
const call = (depth: number, first_row: number, last_row: number, more = {}) => ({
  ...{ start: 0, end: 0, depth, function: depth, first_row, last_row, instructions: 1, self_instructions: 1 },
  ...more,
});
const AT_88 = { called_from: { address: "0x1", file: "shop/shelves.cc", line: 88 } };
const OUTER = call(0, 0, 900, { began_before: true });

/** Answers by the end of the path (and the row); whatever else is asked for fails. */
function server(answers: Record<string, unknown>): Asker {
  return <Answer>(path: string, params = {}) => {
    const row = "row" in params ? `@${String(params["row"])}` : "";
    const key = path.replace("snapshots/abc/", "") + row;
    return key in answers ? Promise.resolve(answers[key] as Answer) : Promise.reject(new Error(key));
  };
}

const THREADS = {
  threads: [
    { tid: 7, rows: 3 },
    { tid: 9, rows: 900 },
  ],
};
const LOCKED = {
  calls: {
    trigger: { tid: 7 },
    held_locks: [
      { holder: 4, lock: "mutex", waiters: [3] },
      { holder: 9, lock: "mutex", waiters: [7] },
    ],
  },
  view: THREADS,
};

it("finds the line by a later call of the same function, where the first one was under way already", async () => {
  const ask = server({
    ...LOCKED,
    "view/stack@0": { calls: [OUTER, call(1, 0, 200, { began_before: true })], functions: FUNCTIONS },
    "view/find@200": { row: 301, call: call(1, 301, 400), functions: FUNCTIONS },
    "view/stack@301": { calls: [OUTER, call(1, 301, 400, AT_88)], functions: FUNCTIONS },
  });
  const lock = await findHeldLock("abc", ask);
  expect(lock).toMatchObject({ holder: 9, waiter: 7, thread: 1 });
  expect(lock?.at).toEqual({
    ...{ row: 300, depth: 0, function: "shop::Shelves::snapshot()", file: "shop/shelves.cc", line: 88 },
  });
  expect(heldPlace("abc", lock!).query).toEqual({ thread: "1", at: "300~0" });
});

it("takes the call itself where it was seen", async () => {
  const ask = server({
    ...LOCKED,
    "view/stack@0": { calls: [OUTER, call(1, 5, 200, AT_88)], functions: FUNCTIONS },
  });
  expect((await findHeldLock("abc", ask))?.at).toMatchObject({ row: 4, line: 88 });
});

it("finds the call before a stub, of which no line is known", async () => {
  const rows = [
    { row: 299, function: 0, file: "shop/shelves.cc", line: 88, text: "call" },
    { row: 300, function: 1, file: "", text: "jmp" },
  ];
  const ask = server({
    ...LOCKED,
    "view/stack@0": { calls: [OUTER, call(1, 0, 200)], functions: FUNCTIONS },
    "view/find@200": { row: 301, call: call(1, 301, 400), functions: FUNCTIONS },
    "view/stack@301": { calls: [OUTER, call(1, 301, 400)], functions: FUNCTIONS },
    "view/insns@293": { rows, functions: FUNCTIONS },
  });
  expect((await findHeldLock("abc", ask))?.at).toMatchObject({ row: 299, depth: 0, line: 88 });
});

it("takes where a call that was under way came back to, if there is no later one", async () => {
  const rows = [
    { row: 201, function: 0, file: "bits/stl_tree.h", line: 7, inlined_at: { file: "shop/shelves.cc", line: 87 } },
  ];
  const ask = server({
    ...LOCKED,
    "view/stack@0": { calls: [OUTER, call(1, 0, 200)], functions: FUNCTIONS },
    "view/find@200": { functions: FUNCTIONS },
    "view/insns@201": { rows, functions: FUNCTIONS },
  });
  expect((await findHeldLock("abc", ask))?.at).toMatchObject({ row: 201, depth: 0, file: "shop/shelves.cc", line: 87 });
});

it("says where the function begins when nothing better is known", async () => {
  const ask = server({
    ...LOCKED,
    "view/stack@0": { calls: [OUTER, call(1, 0, 200)], functions: FUNCTIONS },
    "view/find@200": { functions: FUNCTIONS },
    "view/insns@201": { rows: [], functions: FUNCTIONS },
  });
  expect((await findHeldLock("abc", ask))?.at).toMatchObject({ row: 0, depth: 0, line: 78 });
});

it("tells the holder alone where nothing of it was recorded, and nothing where nobody waited", async () => {
  const alone = await findHeldLock("abc", server({ ...LOCKED, view: { threads: [{ tid: 7, rows: 3 }] } }));
  expect(alone).toEqual({ lock: "mutex", holder: 9, waiter: 7 });
  expect(await findHeldLock("abc", server({ calls: { trigger: { tid: 7 } } }))).toBeUndefined();
});

it("leads past a holder that waits for another thread's lock", async () => {
  const held_locks = [{ holder: 9, lock: "mutex", waiters: [7], blocking_thread: 12 }];
  const view = { threads: [...THREADS.threads, { tid: 12, rows: 5 }] };
  const ask = server({
    ...{ calls: { trigger: { tid: 7 }, held_locks }, view },
    "view/stack@0": { calls: [], functions: FUNCTIONS },
  });
  expect(await findHeldLock("abc", ask)).toEqual({ lock: "mutex", holder: 9, waiter: 7, blocking: 12, thread: 2 });
});

it("takes the first of several locks of the waiter: it slept longest for that one", async () => {
  const held_locks = [
    { holder: 9, lock: "mutex", waiters: [7, 3] },
    { holder: 4, lock: "mutex", waiters: [7] },
  ];
  const ask = server({ calls: { trigger: { tid: 7 }, held_locks }, view: { threads: [] } });
  expect(await findHeldLock("abc", ask)).toEqual({ lock: "mutex", holder: 9, waiter: 7 });
});

it("passes over libraries, unless there is nothing else", () => {
  expect(ownDepth({ calls: [OUTER, call(1, 0, 9)], functions: FUNCTIONS })).toBe(0);
  expect(ownDepth({ calls: [call(1, 0, 9)], functions: FUNCTIONS })).toBe(0);
  expect(ownDepth({ calls: [], functions: FUNCTIONS })).toBe(-1);
});
