// The flow of one thread, as its parts (chart, list, details, keys) share it: one view, one selection.
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import { ask, type AskError } from "@/api/ask";
import type {
  SnapshotViewCall,
  SnapshotViewRowsAnswer,
  SnapshotViewStackAnswer,
  SnapshotViewThread,
  SnapshotViewUnit,
} from "@/api/generated/answers";
import { useViewport } from "@/draw/useViewport";
import { fitted, showing, type Viewport } from "@/draw/viewport";
import { useResting, type Change } from "@/state/resting";
import { useRested } from "@/state/useRested";
import {
  boundsOf,
  extentOf,
  formatSelection,
  parseSelection,
  stackParams,
  viewPath,
  type Selection,
  type Source,
} from "./address";
import { usePieces, type Pieces } from "./pieces";
import { rowIn } from "./rows";
import type { Extent } from "./tiles";

const REST_MILLISECONDS = 60;

export interface Flow {
  readonly source: Source;
  readonly thread: SnapshotViewThread;
  readonly unit: SnapshotViewUnit;
  readonly extent: Extent;
  readonly bounds: Viewport;
  readonly view: Viewport;
  readonly setView: Change<Viewport>;
  readonly pieces: Pieces;
  readonly selection: Selection | undefined;
  /** On the axis; undefined while it is not known. */
  readonly at: number | undefined;
  /** Of the selection, or of the one before while that of this one is on its way. */
  readonly stack: SnapshotViewStackAnswer | undefined;
  /** Where the pointer is, as a share of the width: zooming keeps it. */
  readonly pointer: { current: number | undefined };
  /** Selects, and brings it into sight: of the chart, and (unless it was chosen there) of the list. */
  readonly select: (next: Selection | undefined, from?: "list" | "chart") => void;
  /** What was chosen in the chart: an instant, and the call there. */
  readonly selectAt: (offset: number, call: SnapshotViewCall | undefined, depth: number | undefined) => void;
  /** Counts up when the list is to show the selection. */
  readonly revealed: number;
  readonly problem: AskError | undefined;
}

export function useFlow(source: Source, thread: SnapshotViewThread, unit: SnapshotViewUnit): Flow {
  const extent = useMemo(() => extentOf(thread, source.axis), [thread, source.axis]);
  const bounds = useMemo(() => boundsOf(extent), [extent]);
  const [view, setView] = useViewport(fitted(bounds), "range");
  const [said, change, led] = useResting("at", parseSelection, formatSelection);
  // An address may be of another thread, which had more rows.
  const selection = said && said.row < thread.rows ? said : undefined;
  const pieces = usePieces(source, extent);
  const [revealed, setRevealed] = useState(0);
  const [problem, setProblem] = useState<AskError>();
  const pointer = useRef<number | undefined>(undefined);
  const follow = useRef(false);
  const { stack, error } = useStack(source, selection);
  const at = offsetOf(selection, pieces, stack, source);

  const select: Flow["select"] = (next, from) => {
    setProblem(undefined);
    change(() => next && { ...next, row: Math.min(Math.max(0, next.row), Math.max(0, thread.rows - 1)) });
    follow.current = from !== "chart";
    if (from !== "list") setRevealed((before) => before + 1);
  };
  // A link within the page leads there as a key does.
  useEffect(() => {
    if (led > 0) follow.current = true;
  }, [led]);
  useEffect(() => {
    if (at === undefined || !follow.current) return;
    follow.current = false;
    setView((before) => showing(before, at, at, bounds));
  }, [at, selection]);

  const selectAt = useRowAt(source, thread, select, setProblem);
  const told = problem ?? error ?? pieces.tiles.problem ?? pieces.pages.problem;
  const parts = { source, thread, unit, extent, bounds, view, setView, pieces, selection, at, stack, pointer };
  return { ...parts, select, selectAt, revealed: revealed + led, problem: told };
}

/** The calls that are under way where the selection is; asked for when it rests. */
function useStack(source: Source, selection: Selection | undefined) {
  const rested = useRested(selection, REST_MILLISECONDS);
  const path = rested && viewPath(source.id, "/stack");
  const { data, error } = useAnswer<SnapshotViewStackAnswer>(path, rested ? stackParams(source, rested) : {});
  return { stack: selection ? data : undefined, error };
}

function offsetOf(
  selection: Selection | undefined,
  { pages }: Pieces,
  stack: SnapshotViewStackAnswer | undefined,
  { axis }: Source,
): number | undefined {
  if (!selection || axis === "rows") return selection?.row;
  const row = rowIn((key) => pages.get(key), selection.row);
  return row?.row.offset ?? (stack?.row === selection.row ? stack.offset : undefined);
}

// The instant says which row it is; of several rows at one instant, one of the call.
function useRowAt(
  source: Source,
  thread: SnapshotViewThread,
  select: Flow["select"],
  setProblem: (problem: AskError) => void,
): Flow["selectAt"] {
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  return (offset, call, depth) => {
    abort.current?.abort();
    const own = new AbortController();
    abort.current = own;
    const chosen = (row: number) => {
      const within = call ? Math.min(Math.max(row, call.first_row), call.last_row) : row;
      select(depth === undefined ? { row: within } : { row: within, depth }, "chart");
    };
    if (source.axis === "rows") return chosen(Math.min(Math.max(0, offset), thread.rows - 1));
    const params = { thread: String(source.thread), at: String(offset), count: 1 };
    ask<SnapshotViewRowsAnswer>(viewPath(source.id, "/insns"), params, own.signal).then(
      ({ at_row, first_row }) => chosen(at_row ?? first_row),
      (error: AskError) => {
        if (!own.signal.aborted) setProblem(error);
      },
    );
  };
}

/** The selected call, where the stack is that of the selection. */
export function selectedCall({ selection, stack }: Pick<Flow, "selection" | "stack">): SnapshotViewCall | undefined {
  if (!selection || !stack) return undefined;
  return stack.calls[Math.min(selection.depth ?? Infinity, stack.calls.length - 1)];
}

export type ListHandle = RefObject<{ readonly pageRows: () => number; readonly firstRow: () => number } | null>;
