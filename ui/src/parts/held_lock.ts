// Who held the lock that a recorded request waited for, and at which line of source: as a server's answers about a
// snapshot tell it. Pure but for `ask`, which is given.
//
// The lock was taken before the recording, so that no recorded line takes it. What is told is where its holder was: the
// innermost function of its own program (not of a library) on the stack when the recording began, at the first line of
// it that is known to have run.
import type {
  SnapshotHeldLocks,
  SnapshotViewAnswer,
  SnapshotViewCall,
  SnapshotViewFindAnswer,
  SnapshotViewRowsAnswer,
  SnapshotViewStackAnswer,
} from "@/api/generated/answers";
import type { Params } from "@/api/ask";
import type { Place } from "@/state/place";

export interface HeldLock {
  /** "mutex", say. */
  readonly lock: string;
  /** -1: no thread in particular. */
  readonly waiter: number;
  readonly holder: number;
  /** The last thread in the chain of holders that the holder waited for; undefined: the holder waited for no lock. */
  readonly blocking?: number;
  /** Index of the snapshot's thread `blocking`, else of the holder; undefined: no instructions of it were recorded. */
  readonly thread?: number;
  readonly at?: HeldAt;
}

export interface HeldAt {
  readonly row: number;
  readonly depth: number;
  readonly function: string;
  readonly file?: string;
  readonly line?: number;
}

export type Asker = <Answer>(path: string, params?: Params) => Promise<Answer>;

/** Undefined: nobody waited for a lock, as far as is known. */
export async function findHeldLock(id: string, ask: Asker): Promise<HeldLock | undefined> {
  const base = `snapshots/${encodeURIComponent(id)}`;
  const { held_locks: locks = [], trigger } = await ask<SnapshotHeldLocks>(`${base}/calls`, { limit: 1 });
  // Servers list the lock first that the trigger's thread slept longest for.
  const found = locks.find(({ waiters }) => waiters.includes(trigger?.tid ?? -1)) ?? locks[0];
  if (!found) return undefined;
  const waiter = found.waiters[0] ?? -1;
  const last = found.blocking_thread ?? found.holder;
  const told = { lock: found.lock, holder: found.holder, waiter, ...(last !== found.holder && { blocking: last }) };
  const { threads } = await ask<SnapshotViewAnswer>(`${base}/view`);
  const thread = threads.findIndex(({ tid, rows }) => tid === last && rows > 0);
  if (thread < 0) return told;
  const at = await holdingIn(`${base}/view`, String(thread), ask);
  return at ? { ...told, thread, at } : { ...told, thread };
}

async function holdingIn(view: string, thread: string, ask: Asker): Promise<HeldAt | undefined> {
  const stackAt = (row: number) => ask<SnapshotViewStackAnswer>(`${view}/stack`, { thread, row: String(row) });
  const stack = await stackAt(0);
  const depth = ownDepth(stack);
  const own = stack.calls[depth];
  if (!own) return undefined;
  const name = nameOf(stack, own);
  const inner = stack.calls[depth + 1];
  if (!inner) {
    const { rows } = await ask<SnapshotViewRowsAnswer>(`${view}/insns`, { thread, row: "0", count: 1 });
    return { row: 0, depth, function: name, ...lineOf(rows[0]) };
  }
  const seen = inner.called_from ? inner : await laterCall(view, thread, ask, stack, depth);
  const from =
    (seen && (await calledFrom(view, thread, ask, name, seen))) ?? (await returnedTo(view, thread, ask, stack, depth));
  return from
    ? { depth, function: name, ...from }
    : { row: 0, depth, function: name, ...lineOf(functionOf(stack, own)) };
}

// The call that was under way when the recording began was not seen to be made; one of the same function may be, later.
async function laterCall(view: string, thread: string, ask: Asker, stack: SnapshotViewStackAnswer, depth: number) {
  const [own, inner] = [stack.calls[depth], stack.calls[depth + 1]];
  if (!own || !inner) return undefined;
  const name = nameOf(stack, inner);
  const found = await ask<SnapshotViewFindAnswer>(`${view}/find`, {
    thread,
    row: String(inner.last_row),
    function: name,
  });
  if (found.row === undefined || found.row > own.last_row || found.call?.depth !== depth + 1) return undefined;
  const there = await ask<SnapshotViewStackAnswer>(`${view}/stack`, { thread, row: String(found.row) });
  return there.calls[depth + 1];
}

/** A call into another library goes by a stub of a row or some, of which no line is known. */
const MOST_STUB_ROWS = 8;
/** What happens between instructions has rows, too. */
const MOST_ROWS_BEHIND = 4;

/** The last row of the function's own before the call begins, which is the call itself. */
async function calledFrom(view: string, thread: string, ask: Asker, name: string, call: SnapshotViewCall) {
  const row = Math.max(0, call.first_row - 1);
  if (call.called_from?.file) return { row, ...lineOf(call.called_from) };
  const first = Math.max(0, call.first_row - MOST_STUB_ROWS);
  const range = { thread, row: String(first), count: call.first_row - first };
  const { rows, functions } = await ask<SnapshotViewRowsAnswer>(`${view}/insns`, range);
  const own = rows.filter(({ function: index = -1, file }) => functions[index]?.name === name && file).pop();
  return own && { row: own.row, ...lineOf(own.inlined_at ?? own) };
}

/** Where a call that was under way came back to: behind the call, on its line or the next that ran. */
async function returnedTo(view: string, thread: string, ask: Asker, stack: SnapshotViewStackAnswer, depth: number) {
  const [own, inner] = [stack.calls[depth], stack.calls[depth + 1]];
  if (!own || !inner || inner.last_row >= own.last_row) return undefined;
  const range = { thread, row: String(inner.last_row + 1), count: MOST_ROWS_BEHIND };
  const { rows, functions } = await ask<SnapshotViewRowsAnswer>(`${view}/insns`, range);
  const name = nameOf(stack, own);
  const back = rows.find(({ function: index = -1, file }) => functions[index]?.name === name && file);
  return back && { row: back.row, ...lineOf(back.inlined_at ?? back) };
}

const LIBRARY = /^(\/usr)?\/lib(32|64|x32)?\/|^\[|^$/;

/** The innermost call of the program's own; where all are of libraries, the innermost of which a line is known. */
export function ownDepth({ calls, functions }: Pick<SnapshotViewStackAnswer, "calls" | "functions">): number {
  const of = (call: SnapshotViewCall) => functions[call.function];
  const own = lastOf(calls, (call) => !LIBRARY.test(of(call)?.image ?? "") && Boolean(of(call)?.file));
  return own >= 0 ? own : lastOf(calls, (call) => Boolean(of(call)?.file));
}

function lastOf(calls: readonly SnapshotViewCall[], fits: (call: SnapshotViewCall) => boolean): number {
  return calls.reduce((found, call, at) => (fits(call) ? at : found), -1);
}

function functionOf({ functions }: SnapshotViewStackAnswer, call: SnapshotViewCall) {
  return functions[call.function];
}

function nameOf(stack: SnapshotViewStackAnswer, call: SnapshotViewCall): string {
  return functionOf(stack, call)?.name ?? "?";
}

function lineOf(place: { readonly file?: string; readonly line?: number } | undefined) {
  return place?.file ? { file: place.file, ...(place.line !== undefined && { line: place.line }) } : {};
}

/** Where the instructions show it: of the holder, at the very line. */
export function heldPlace(id: string, { thread, at }: HeldLock): Place {
  const selected = at && `${at.row}~${at.depth}`;
  const query = {
    ...(thread !== undefined && { thread: String(thread) }),
    ...(selected !== undefined && { at: selected }),
  };
  return { view: "snapshot", id, query };
}
