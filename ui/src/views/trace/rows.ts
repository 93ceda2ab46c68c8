// The rows of the waterfall: what of a tree is in sight, given what the reader folded.
//
// Runs of equal siblings are one row until they are opened; then that row stays above them, to close it again. What is
// folded is said as few words: to which depth all is open, and what differs from that.
import { nodeAt, type TraceTree } from "./tree";

export interface Folding {
  /** Spans of this depth and deeper are closed; undefined: all are open. */
  readonly depth: number | undefined;
  /** Runs are open. */
  readonly runsOpen: boolean;
  /** Keys of rows that are the other way. */
  readonly flipped: ReadonlySet<string>;
}

export const NOTHING_FOLDED: Folding = { depth: undefined, runsOpen: false, flipped: new Set() };

export interface Row {
  /** The row's span, or the first of a run. */
  readonly node: number;
  readonly depth: number;
  /** Of a run: its members. */
  readonly run?: readonly number[];
  /** Undefined: there is nothing below. */
  readonly open: boolean | undefined;
}

export function runKey(tree: TraceTree, first: number): string {
  return `x${nodeAt(tree, first).key}`;
}

export function rowKey(tree: TraceTree, row: Row): string {
  return row.run ? runKey(tree, row.node) : nodeAt(tree, row.node).key;
}

export function isOpen(tree: TraceTree, node: number, folding: Folding): boolean {
  const { key, depth } = nodeAt(tree, node);
  return (folding.depth === undefined || depth < folding.depth) !== folding.flipped.has(key);
}

export function isRunOpen(tree: TraceTree, first: number, folding: Folding): boolean {
  return folding.runsOpen !== folding.flipped.has(runKey(tree, first));
}

interface Level {
  readonly siblings: readonly number[];
  at: number;
  readonly depth: number;
  /** Members of an open run are told one by one. */
  readonly inRun: boolean;
}

export function visibleRows(tree: TraceTree, folding: Folding): readonly Row[] {
  const rows: Row[] = [];
  const levels: Level[] = [{ siblings: tree.roots, at: 0, depth: 0, inRun: false }];
  for (let level = levels.at(-1); level; level = levels.at(-1)) {
    const node = level.siblings[level.at];
    if (node === undefined) levels.pop();
    else pushRow(tree, folding, rows, levels, level, node);
  }
  return rows;
}

function pushRow(tree: TraceTree, folding: Folding, rows: Row[], levels: Level[], level: Level, node: number): void {
  const run = level.inRun ? undefined : tree.runs.get(node);
  const { depth } = level;
  if (run) {
    level.at += run.length;
    const open = isRunOpen(tree, node, folding);
    rows.push({ node, depth, run, open });
    if (open) levels.push({ siblings: run, at: 0, depth: depth + 1, inRun: true });
    return;
  }
  level.at += 1;
  const { children } = nodeAt(tree, node);
  const open = children.length > 0 ? isOpen(tree, node, folding) : undefined;
  rows.push({ node, depth, open });
  if (open) levels.push({ siblings: children, at: 0, depth: depth + 1, inRun: false });
}

/** The same with one row the other way. */
export function flip(folding: Folding, key: string): Folding {
  const flipped = new Set(folding.flipped);
  if (!flipped.delete(key)) flipped.add(key);
  return { ...folding, flipped };
}

/** The same with all above a span open, so that it is in sight. */
export function reveal(tree: TraceTree, folding: Folding, node: number): Folding {
  let result = folding;
  for (let at = node; at >= 0; ) {
    const parent = nodeAt(tree, at).parent;
    const first = runOf(tree, at);
    if (first !== undefined && !isRunOpen(tree, first, result)) result = flip(result, runKey(tree, first));
    if (parent >= 0 && !isOpen(tree, parent, result)) result = flip(result, nodeAt(tree, parent).key);
    at = parent;
  }
  return result;
}

/** The first of the run that a span is a member of. */
function runOf(tree: TraceTree, node: number): number | undefined {
  const { parent } = nodeAt(tree, node);
  const siblings = parent >= 0 ? nodeAt(tree, parent).children : tree.roots;
  for (let at = lowerBound(siblings, node); at >= 0; --at) {
    const run = tree.runs.get(siblings[at] ?? -1);
    if (run) return (run.at(-1) ?? -1) >= node ? siblings[at] : undefined;
  }
  return undefined;
}

/** The place of a value in ascending numbers that have it. */
function lowerBound(ascending: readonly number[], value: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function deepest(tree: TraceTree): number {
  return tree.nodes.reduce((most, node) => Math.max(most, node.depth), 0);
}

/** Where the row of a span is; of one out of sight, that of the run or the span that hides it. -1: nowhere. */
export function placeOfNode(rows: readonly Row[], node: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.node ?? 0) <= node) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
