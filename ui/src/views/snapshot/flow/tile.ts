// A tile as it is drawn: bars by depth, from left to right, whatever the server put together among them.
import type { SnapshotViewBreak, SnapshotViewCall, SnapshotViewCallsAnswer } from "@/api/generated/answers";
import { shortName } from "@/parts/code_names";
import { lookOf, MERGED_LOOK } from "./looks";

/** A call, or several that are narrower than a column. Bars of one depth do not overlap. */
export interface Bar {
  readonly start: number;
  readonly end: number;
  readonly look: number;
  /** In full. */
  readonly name: string;
  /** For drawing. */
  readonly label: string;
  /** How many calls; 1 of one. */
  readonly calls: number;
  /** Undefined: several. */
  readonly call?: SnapshotViewCall;
}

export interface Tile {
  readonly byDepth: ReadonlyMap<number, readonly Bar[]>;
  readonly breaks: readonly SnapshotViewBreak[];
  /** Depths from here on had no room; Infinity: all are here. */
  readonly leftOutFrom: number;
}

export const EMPTY_TILE: Tile = { byDepth: new Map(), breaks: [], leftOutFrom: Infinity };

export function tileOf(answer: SnapshotViewCallsAnswer): Tile {
  const labels = answer.functions.map(({ name }) => ({ name, label: shortName(name), look: lookOf(name) }));
  const unknown = { name: "?", label: "?", look: lookOf("[?]") };
  const byDepth = new Map<number, Bar[]>();
  for (const call of answer.calls) {
    const { start, end, depth } = call;
    rowOf(byDepth, depth).push({ start, end, calls: 1, call, ...(labels[call.function] ?? unknown) });
  }
  for (const { start, end, depth, calls } of answer.merged)
    rowOf(byDepth, depth).push({ start, end, calls, look: MERGED_LOOK, name: "", label: "" });
  for (const bars of byDepth.values()) bars.sort((one, other) => one.start - other.start || one.end - other.end);
  const leftOutFrom = answer.left_out_depths > 0 ? answer.first_depth + answer.depths : Infinity;
  return { byDepth, breaks: answer.breaks, leftOutFrom };
}

function rowOf(byDepth: Map<number, Bar[]>, depth: number): Bar[] {
  const known = byDepth.get(depth);
  if (known) return known;
  const made: Bar[] = [];
  byDepth.set(depth, made);
  return made;
}

/** Two answers about the same time: the second one has the depths that the first one had no room for. */
export function joined(first: Tile, second: Tile): Tile {
  const byDepth = new Map([...first.byDepth, ...second.byDepth]);
  return { byDepth, breaks: first.breaks, leftOutFrom: second.leftOutFrom };
}

/** The first bar that ends at `from` or later. */
export function firstBar(bars: readonly Bar[], from: number): number {
  let [low, high] = [0, bars.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((bars[middle]?.end ?? Infinity) < from) low = middle + 1;
    else high = middle;
  }
  return low;
}
