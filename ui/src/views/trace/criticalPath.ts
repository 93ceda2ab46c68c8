// The critical path: which span a request waited for at each moment, from its end backwards.
//
// At the end the root itself is at work, back to the end of the child that finished last; before that, what is true of
// this child is; before the child's start, the root again, back to the end of the last child that had finished by then;
// and so on. What lies on the path made the request later; making anything else quicker does not help.
//
// - A child that ends beyond its parent's end is cut there. One that was not waited for is not on the path: a consumer
//   that goes on, or a span of the parent's own process (so of the same clock) that goes on for long.
// - Of two clocks an overlap within their errors counts as none. A server that does not fit into the client that waited
//   for it, as a clock error makes it, is taken as moved into it (see clockShifts).
// - The path is that of the one root. Spans whose parents are not stored count as the root's children where they begin
//   within it. Of several roots, or of none, the whole trace is walked as if one span were around them; moments in which
//   no span of it lasted are `uncoveredNano`.
//
// Pure, O(n log n), without recursion. Pieces lie in the trace's own (drawn) times, and do not overlap but where a span
// is taken as moved.
import { clockShifts, overlapAllowed } from "./clockErrors";
import type { SpanNode, TraceTree } from "./tree";

export interface PathPiece {
  readonly node: number;
  readonly startNano: number;
  readonly endNano: number;
}

export interface CriticalPath {
  /** By time. Neighbours are of different spans. */
  readonly pieces: readonly PathPiece[];
  /** Of each node: its own time on the path. Those of all add up to `totalNano` less `uncoveredNano`. */
  readonly ownNano: Float64Array;
  readonly totalNano: number;
  readonly uncoveredNano: number;
  /** The request's root, where there is exactly one. */
  readonly root: number | undefined;
}

interface Stretch {
  readonly node: number;
  readonly from: number;
  readonly until: number;
}

const AROUND = -1;

/** A child of the same process that outlives its parent by more than this share of it was not waited for. */
const OUTLIVES = 0.05;

export function findCriticalPath(tree: TraceTree): CriticalPath {
  return new Walk(tree).run();
}

class Walk {
  readonly #nodes: readonly SpanNode[];
  readonly #shift: Float64Array;
  readonly #root: number | undefined;
  readonly #top: readonly number[];
  readonly #found: PathPiece[] = [];
  #uncovered = 0;

  constructor(tree: TraceTree) {
    this.#nodes = tree.nodes;
    this.#shift = clockShifts(tree);
    this.#top = tree.roots.flatMap((index) =>
      tree.nodes[index]?.span ? [index] : (tree.nodes[index]?.children ?? []),
    );
    const real = tree.roots.filter((index) => tree.nodes[index]?.span);
    this.#root = real.length === 1 ? real[0] : undefined;
  }

  run(): CriticalPath {
    const whole = this.#whole();
    const waiting = [whole];
    for (let next = waiting.pop(); next; next = waiting.pop()) this.#explain(next, waiting);
    const pieces = joined(this.#found.sort((one, other) => one.startNano - other.startNano || one.node - other.node));
    const ownNano = new Float64Array(this.#nodes.length);
    for (const piece of pieces) ownNano[piece.node] = (ownNano[piece.node] ?? 0) + piece.endNano - piece.startNano;
    const totalNano = whole.until - whole.from;
    return {
      pieces: pieces.map((piece) => this.#asDrawn(piece)),
      ownNano,
      totalNano,
      uncoveredNano: this.#uncovered,
      root: this.#root,
    };
  }

  #whole(): Stretch {
    if (this.#root !== undefined)
      return { node: this.#root, from: this.#start(this.#root), until: this.#end(this.#root) };
    let [from, until] = [Infinity, -Infinity];
    for (const index of this.#top) {
      from = Math.min(from, this.#start(index));
      until = Math.max(until, this.#end(index));
    }
    return this.#top.length > 0 ? { node: AROUND, from, until } : { node: AROUND, from: 0, until: 0 };
  }

  /** Divides a stretch between its span and those of its children that it waited for. */
  #explain({ node, from, until }: Stretch, waiting: Stretch[]): void {
    let cursor = until;
    let limit = Infinity;
    for (const child of this.#lastFirst(node)) {
      if (cursor <= from) break;
      if (this.#end(child) > limit + this.#allowed(node, child)) continue;
      const end = Math.min(this.#end(child), cursor);
      const start = Math.max(this.#start(child), from);
      if (start >= end) continue;
      this.#own(node, end, cursor);
      waiting.push({ node: child, from: start, until: end });
      cursor = limit = start;
    }
    this.#own(node, from, cursor);
  }

  #own(node: number, startNano: number, endNano: number): void {
    if (endNano <= startNano) return;
    if (node === AROUND) this.#uncovered += endNano - startNano;
    else this.#found.push({ node, startNano, endNano });
  }

  /** The children that were waited for, the last that finished first; of those that finished together the longest. */
  #lastFirst(node: number): readonly number[] {
    const awaited = this.#childrenOf(node).filter((child) => node === AROUND || this.#waitedFor(node, child));
    return awaited.sort((one, other) => this.#end(other) - this.#end(one) || this.#start(one) - this.#start(other));
  }

  #childrenOf(node: number): number[] {
    if (node === AROUND) return [...this.#top];
    const own = this.#nodes[node]?.children ?? [];
    return node === this.#root ? [...own, ...this.#top.filter((index) => index !== node)] : [...own];
  }

  #waitedFor(parent: number, child: number): boolean {
    const over = this.#end(child) - this.#end(parent);
    const above = this.#nodes[parent]?.span;
    const span = this.#nodes[child]?.span;
    if (over <= 0 || !above || !span) return true;
    if (span.kind === "consumer") return false;
    return span.resource !== above.resource || over <= OUTLIVES * (this.#end(parent) - this.#start(parent));
  }

  /** By how much a child may end behind the moment at which the next one began, and yet have been before it. */
  #allowed(node: number, child: number): number {
    const above = this.#nodes[node];
    const below = this.#nodes[child];
    return above && below ? overlapAllowed(above, below) : Infinity;
  }

  #start(index: number): number {
    return (this.#nodes[index]?.startNano ?? 0) + (this.#shift[index] ?? 0);
  }
  #end(index: number): number {
    return (this.#nodes[index]?.endNano ?? 0) + (this.#shift[index] ?? 0);
  }
  #asDrawn({ node, startNano, endNano }: PathPiece): PathPiece {
    const shift = this.#shift[node] ?? 0;
    return { node, startNano: startNano - shift, endNano: endNano - shift };
  }
}

function joined(pieces: readonly PathPiece[]): readonly PathPiece[] {
  const result: PathPiece[] = [];
  for (const piece of pieces) {
    const last = result.at(-1);
    if (last && last.node === piece.node && last.endNano === piece.startNano)
      result[result.length - 1] = { ...last, endNano: piece.endNano };
    else result.push(piece);
  }
  return result;
}
