// What the address says of a snapshot's flow, and what is asked of the server: pure.
//
//     thread=N tid=TID  of the snapshot's threads; the other parts of the view know it by its id
//     at=ROW            the selected instruction; at=ROW~DEPTH: and of the calls that are under way there, this one
//     range=A~B         what of the calls is in sight: begin and length
//     axis=rows         calls over instructions instead of over time
//     find=TEXT in=text what is searched for: a function's name, or in=text in instructions
import type { SnapshotViewAnswer, SnapshotViewThread, SnapshotViewUnit } from "@/api/generated/answers";
import type { Params } from "@/api/ask";
import type { Viewport } from "@/draw/viewport";
import type { Place } from "@/state/place";
import { PAGE_ROWS } from "./rows";
import { BAND_DEPTHS, rangeOf, TILE_COLUMNS, type Extent, type TilePlace } from "./tiles";

export interface Selection {
  readonly row: number;
  /** Undefined: the innermost call. */
  readonly depth?: number;
}

export function parseSelection(text: string | undefined): Selection | undefined {
  const found = /^(\d{1,15})(?:~(\d{1,6}))?$/.exec(text ?? "");
  if (!found) return undefined;
  return found[2] === undefined ? { row: Number(found[1]) } : { row: Number(found[1]), depth: Number(found[2]) };
}

export function formatSelection(selection: Selection | undefined): string | undefined {
  if (!selection) return undefined;
  return selection.depth === undefined ? String(selection.row) : `${selection.row}~${selection.depth}`;
}

/** Where rows and calls of one thread are asked for. */
export interface Source {
  readonly id: string;
  readonly thread: number;
  readonly axis: "time" | "rows";
}

/** `first`: what is shown where the address says nothing. */
export function sourceOfPlace(place: Place, answer: SnapshotViewAnswer, first = answer.thread): Source {
  const thread = saidThread(place, answer) ?? first;
  const rows = place.query["axis"] === "rows" || answer.threads[thread]?.unit === "rows";
  return { id: place.id ?? "", thread, axis: rows ? "rows" : "time" };
}

/** Undefined: the address says none that there is. What it says to be selected is of the trigger's thread then. */
function saidThread({ query }: Place, { threads, thread: ofTrigger }: SnapshotViewAnswer): number | undefined {
  if (query["thread"] !== undefined && threads[Number(query["thread"])]) return Number(query["thread"]);
  const byId = threads.findIndex(({ tid }) => String(tid) === query["tid"]);
  if (byId >= 0) return byId;
  return query["at"] || query["range"] ? ofTrigger : undefined;
}

/**
 * The thread that one opens a snapshot for: the one that held the lock which was waited for; while that is not known, the
 * one with most instructions, as a thread that waits executes few.
 */
export function firstThread({ threads, thread }: SnapshotViewAnswer, holder: number | undefined): number {
  if (holder !== undefined && threads[holder]) return holder;
  return threads.reduce(
    (most, { instructions }, at) => (instructions > (threads[most]?.instructions ?? -1) ? at : most),
    thread,
  );
}

/** What the address says of the thread that is shown, so that all parts show it and a link to what is selected is right. */
export function threadWords({ threads }: SnapshotViewAnswer, thread: number): { thread: string; tid?: string } {
  const tid = threads[thread]?.tid ?? -1;
  return { thread: String(thread), ...(tid >= 0 && { tid: String(tid) }) };
}

export const viewPath = (id: string, what = "") => `snapshots/${encodeURIComponent(id)}/view${what}`;

export function tileParams({ thread, axis }: Source, extent: Extent, place: TilePlace, firstDepth?: number): Params {
  const { from, to } = rangeOf(extent, place);
  const first = firstDepth ?? place.band * BAND_DEPTHS;
  const depths = (place.band + 1) * BAND_DEPTHS - first;
  const columns = TILE_COLUMNS;
  return {
    thread: String(thread),
    from: String(from),
    to: String(to),
    columns,
    first_depth: String(first),
    depths,
    axis,
  };
}

export function pageParams({ thread }: Source, key: string): Params {
  return { thread: String(thread), row: String(Number(key) * PAGE_ROWS), count: PAGE_ROWS };
}

export function stackParams({ thread }: Source, { row, depth }: Selection): Params {
  return { thread: String(thread), row: String(row), depth: depth === undefined ? undefined : String(depth) };
}

/** All that there is on the axis that was chosen. */
export function extentOf(thread: SnapshotViewThread, axis: Source["axis"]): Extent {
  return axis === "rows" ? { start: 0, end: Math.max(0, thread.rows - 1) } : { start: thread.start, end: thread.end };
}

export function boundsOf({ start, end }: Extent): Viewport {
  return { begin: start, duration: Math.max(1, end - start) };
}

export function unitOf(thread: SnapshotViewThread, { axis }: Source): SnapshotViewUnit {
  return axis === "rows" ? "rows" : thread.unit;
}

/** "shop 4711, 10,000,000 instructions": as a person chooses one. */
export function threadText({ name, tid, instructions, of_trigger }: SnapshotViewThread): string {
  const who = [name, tid >= 0 ? String(tid) : ""].filter((part) => part !== "").join(" ") || "unknown thread";
  return `${who}, ${instructions.toLocaleString("en")} instructions${of_trigger ? ", the trigger's" : ""}`;
}

export interface Search {
  readonly text: string;
  readonly kind: "function" | "text";
}

export function searchOf({ query }: Place): Search {
  return { text: query["find"] ?? "", kind: query["in"] === "text" ? "text" : "function" };
}

export function findParams({ thread }: Source, { text, kind }: Search, row: number, backwards: boolean): Params {
  return { thread: String(thread), row: String(row), [kind]: text, backwards };
}
