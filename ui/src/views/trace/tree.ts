// The tree of a trace: its spans in the order in which a reader meets them, each parent before its children, siblings by
// start. A subtree is a stretch of that order, [index, after). O(n log n); no recursion, for depth may be hostile.
import type { TraceAnswer, TraceSpan } from "@/api/generated/answers";
import type { UnixNano } from "@/time/nano";
import { spanTimes, type ClockChoice } from "./instants";
import { findParents, type Parents } from "./links";
import { findRuns, selfTimes } from "./siblings";

export interface SpanNode {
  readonly index: number;
  /** What an address calls it: the span's id, with "~2" behind the second of one id; "?ID" of a parent not stored. */
  readonly key: string;
  /** Undefined: a parent that is named and not stored. Its times are those of its children. */
  readonly span: TraceSpan | undefined;
  readonly spanId: string;
  readonly parent: number;
  readonly children: readonly number[];
  readonly depth: number;
  /** The first index behind its subtree. */
  readonly after: number;
  readonly startNano: number;
  readonly endNano: number;
  /** It was in a cycle of parents, which was broken here. */
  readonly cutFromCycle: boolean;
}

export interface TraceTree {
  readonly originNano: UnixNano;
  readonly durationNano: number;
  readonly nodes: readonly SpanNode[];
  readonly roots: readonly number[];
  readonly byKey: ReadonlyMap<string, number>;
  /** Of each node: how long it lasted while none of its children did. */
  readonly selfNano: Float64Array;
  /** Of each node: where the run of equal siblings that it is in begins (itself, where there is none), see siblings.ts. */
  readonly runs: ReadonlyMap<number, readonly number[]>;
}

export function isError(node: SpanNode): boolean {
  return node.span?.status === "error";
}

export function durationOf(node: SpanNode): number {
  return node.endNano - node.startNano;
}

/** A tree's node by its index; indexes that come from the tree are never wrong. */
export function nodeAt(tree: TraceTree, index: number): SpanNode {
  const node = tree.nodes[index];
  if (!node) throw new RangeError(`no span ${index}`);
  return node;
}

export function buildTree(answer: TraceAnswer, choice: ClockChoice): TraceTree {
  const times = spanTimes(answer.spans, choice);
  const raw = new RawForest(answer.spans, findParents(answer.spans), times.startNano, times.endNano);
  const { nodes, roots, byKey } = inOrder(raw);
  return {
    originNano: times.originNano,
    durationNano: nodes.reduce((latest, node) => Math.max(latest, node.endNano), 0),
    nodes,
    roots,
    byKey,
    selfNano: selfTimes(nodes),
    runs: findRuns(nodes, roots),
  };
}

/** Spans and missing parents, by the answer's indexes. */
class RawForest {
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Undefined: none, as of most spans. */
  readonly children: (number[] | undefined)[];
  readonly roots: number[] = [];

  constructor(
    readonly spans: readonly TraceSpan[],
    readonly parents: Parents,
    starts: Float64Array,
    ends: Float64Array,
  ) {
    const size = spans.length + parents.missing.length;
    this.start = new Float64Array(size).fill(Infinity);
    this.end = new Float64Array(size);
    this.start.set(starts);
    this.end.set(ends);
    this.children = new Array<number[] | undefined>(size).fill(undefined);
    this.#link();
    this.#sort();
  }

  #link(): void {
    const { parent, missing } = this.parents;
    parent.forEach((up, index) => (up < 0 ? this.roots.push(index) : this.#adopt(up, index)));
    missing.forEach((_, which) => {
      const index = this.spans.length + which;
      this.roots.push(index);
      for (const child of this.children[index] ?? []) this.#widen(index, child);
    });
  }

  #adopt(up: number, index: number): void {
    const known = this.children[up];
    if (known) known.push(index);
    else this.children[up] = [index];
  }

  #widen(index: number, child: number): void {
    this.start[index] = Math.min(this.start[index] ?? 0, this.start[child] ?? 0);
    this.end[index] = Math.max(this.end[index] ?? 0, this.end[child] ?? 0);
  }

  #sort(): void {
    const earlier = (one: number, other: number) => (this.start[one] ?? 0) - (this.start[other] ?? 0) || one - other;
    for (const list of [this.roots, ...this.children]) if (list && list.length > 1) list.sort(earlier);
  }
}

interface Building extends SpanNode {
  children: readonly number[];
  after: number;
}

class Ordered {
  readonly nodes: Building[] = [];
  readonly roots: number[] = [];
  readonly byKey = new Map<string, number>();
  /** How many spans had an id so far, of those that had it more than once. */
  readonly repeats = new Map<string, number>();
}

function inOrder(raw: RawForest): Ordered {
  const done = new Ordered();
  const waiting: number[] = [...raw.roots].reverse();
  const parents: number[] = waiting.map(() => -1);
  for (let from = waiting.pop(); from !== undefined; from = waiting.pop()) {
    const node = makeNode(raw, from, parents.pop() ?? -1, done);
    const below = raw.children[from] ?? [];
    for (let last = below.length - 1; last >= 0; --last) {
      waiting.push(below[last] ?? 0);
      parents.push(node.index);
    }
  }
  for (let index = done.nodes.length - 1; index >= 0; --index) closeSubtree(done.nodes, index);
  return done;
}

const NO_CHILDREN: readonly number[] = [];

function makeNode(raw: RawForest, from: number, parent: number, done: Ordered): Building {
  const span = raw.spans[from];
  const spanId = span?.span_id ?? raw.parents.missing[from - raw.spans.length] ?? "";
  const index = done.nodes.length;
  const node: Building = {
    index,
    key: freeKey(span ? spanId : `?${spanId}`, done),
    span,
    spanId,
    parent,
    children: raw.children[from] ? [] : NO_CHILDREN,
    depth: (done.nodes[parent]?.depth ?? -1) + 1,
    after: index + 1,
    startNano: raw.start[from] ?? 0,
    endNano: raw.end[from] ?? 0,
    cutFromCycle: raw.parents.cut.has(from),
  };
  done.nodes.push(node);
  done.byKey.set(node.key, index);
  if (parent < 0) done.roots.push(index);
  return node;
}

/** After all spans have their place: where a subtree ends, and which indexes its children got. */
function closeSubtree(nodes: readonly Building[], index: number): void {
  const node = nodes[index];
  if (!node || node.children === NO_CHILDREN) return;
  const children: number[] = [];
  let child = index + 1;
  for (let next = nodes[child]; next?.parent === index; next = nodes[child]) {
    children.push(child);
    child = next.after;
  }
  node.children = children;
  node.after = child;
}

function freeKey(id: string, done: Ordered): string {
  if (!done.byKey.has(id)) return id;
  const nth = (done.repeats.get(id) ?? 1) + 1;
  done.repeats.set(id, nth);
  return `${id}~${nth}`;
}
