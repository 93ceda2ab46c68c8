// What the keyboard does in a snapshot's flow.
import { useRef } from "preact/hooks";
import { ask } from "@/api/ask";
import type { SnapshotViewStackAnswer } from "@/api/generated/answers";
import { fitted, panned, zoomed } from "@/draw/viewport";
import { drawWaiting } from "@/keys/drawing";
import { useKeys, type KeyBinding } from "@/keys/keys";
import { go, place } from "@/state/navigation";
import { withQuery } from "@/state/place";
import { stackParams, viewPath, type Selection } from "./address";
import { selectedCall, type Flow, type ListHandle } from "./flow";
import { moved, type Move } from "./moves";

interface Controls {
  readonly flow: Flow;
  readonly list: ListHandle;
  readonly focusSearch: () => void;
  readonly find: (backwards: boolean) => void;
  readonly threads: number;
}

export function useFlowKeys(controls: Controls): void {
  const toCall = useCallMoves(controls);
  useKeys("Calls", [...callKeys(controls, toCall), ...viewKeys(controls)]);
  useKeys("Instructions", rowKeys(controls));
}

function viewKeys({ flow, threads }: Controls): KeyBinding[] {
  const { setView, bounds, pointer } = flow;
  const zoom = (factor: number) => () => setView((before) => zoomed(before, factor, pointer.current ?? 0.5, bounds));
  const pan = (share: number) => () => setView((before) => panned(before, before.duration * share, bounds));
  const nextThread = () =>
    changeFlow({ tid: undefined, thread: String((flow.source.thread + 1) % Math.max(1, threads)) });
  return [
    { key: "w", what: "zoom in, at the pointer", run: zoom(0.7) },
    { key: "s", what: "zoom out", run: zoom(1 / 0.7) },
    { key: "a", what: "move back", run: pan(-0.15) },
    { key: "d", what: "move on", run: pan(0.15) },
    { key: "f", what: "show all of it", run: () => setView(() => fitted(bounds)) },
    { key: "t", what: "next thread", run: nextThread },
    { key: "x", what: "over time, or over instructions", run: () => toggleAxis(flow) },
  ];
}

/** Another thread or axis: what was selected and in sight is of the one before. */
export function changeFlow(changes: Readonly<Record<string, string | undefined>>): void {
  if (!place.value) return;
  go(withQuery(place.value, { at: undefined, range: undefined, ...changes }), "replace");
}

export function toggleAxis({ source, selection }: Flow): void {
  const at = selection && String(selection.row);
  changeFlow({ axis: source.axis === "rows" ? undefined : "rows", at });
}

function callKeys({ flow }: Controls, to: CallMove): KeyBinding[] {
  const bindings: readonly (readonly [string, string, Move])[] = [
    ["ArrowRight", "next call at this depth", "next"],
    ["ArrowLeft", "call before it", "previous"],
    ["n", "next call at this depth", "next"],
    ["p", "call before it", "previous"],
    ["i", "into the next call that it makes", "in"],
    ["o", "out, to where it was called", "out"],
    ["b", "to the call's beginning", "begin"],
    ["e", "to its end", "end"],
  ];
  return [
    ...bindings.map(([key, what, move]) => ({ key, what, run: (event: KeyboardEvent) => to(move, event) })),
    { key: "Enter", what: "zoom to the call", run: () => zoomToCall(flow) },
    { key: "Escape", what: "select nothing", run: () => flow.select(undefined) },
  ];
}

export function zoomToCall(flow: Flow): void {
  const call = selectedCall(flow);
  if (call) flow.setView(() => fitted({ begin: call.start, duration: call.end - call.start }, 0.08));
}

type CallMove = (move: Move, event: KeyboardEvent) => void;

// The answer on the page may be of the selection before. Moves wait for each other; a held key's, for no more than one.
function useCallMoves(controls: Controls): CallMove {
  const latest = useRef(controls);
  latest.current = controls;
  const line = useRef({ last: Promise.resolve(), length: 0 });
  return (move, { repeat }) => {
    const own = line.current;
    if (repeat && own.length > 0) return;
    own.length += 1;
    own.last = own.last
      .then(() => moveCall(latest.current, move))
      .catch(() => undefined) // the stack beside the chart is asked for, too, and tells what is wrong
      .finally(() => (own.length -= 1));
  };
}

async function moveCall({ flow, list }: Controls, move: Move): Promise<void> {
  const from: Selection = flow.selection ?? { row: list.current?.firstRow() ?? 0 };
  const to = moved(await stackOf(flow, from), from.depth, move);
  if (!to) return;
  flow.select(to);
  drawWaiting();
}

function stackOf({ source, stack, selection }: Flow, from: Selection): Promise<SnapshotViewStackAnswer> {
  const current = stack && selection && stack.row === from.row && selection.depth === from.depth;
  if (current && (from.depth === undefined || stack.calls.length > from.depth)) return Promise.resolve(stack);
  return ask<SnapshotViewStackAnswer>(viewPath(source.id, "/stack"), stackParams(source, from));
}

function rowKeys({ flow, list, focusSearch, find }: Controls): KeyBinding[] {
  const { selection, select, thread } = flow;
  const to = (row: (page: number) => number) => () => select({ row: row(list.current?.pageRows() ?? 20) });
  const from = selection?.row ?? (list.current?.firstRow() ?? 0) - 1;
  return [
    { key: "ArrowDown", what: "next instruction", run: to(() => from + 1) },
    { key: "ArrowUp", what: "instruction before", run: to(() => from - 1) },
    { key: "PageDown", what: "a page on", run: to((page) => from + page) },
    { key: "PageUp", what: "a page back", run: to((page) => from - page) },
    { key: "Home", what: "first instruction", run: to(() => 0) },
    { key: "End", what: "last instruction", run: to(() => thread.rows - 1) },
    { key: "/", what: "search", run: focusSearch },
    { key: ".", what: "next match", run: () => find(false) },
    { key: ",", what: "match before", run: () => find(true) },
  ];
}
