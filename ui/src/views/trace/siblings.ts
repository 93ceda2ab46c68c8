// What is said of siblings: how much of their parent they leave to itself, and which of them repeat one operation.
import type { SpanNode } from "./tree";

/** So many equal siblings in a row are worth folding. */
export const LEAST_RUN = 5;

/** Of each node its duration less the time in which any of its children lasted. Of a missing parent: 0. */
export function selfTimes(nodes: readonly SpanNode[]): Float64Array {
  return Float64Array.from(nodes, (node) => (node.span ? node.endNano - node.startNano - covered(nodes, node) : 0));
}

function covered(nodes: readonly SpanNode[], node: SpanNode): number {
  let sum = 0;
  let until = node.startNano;
  for (const index of node.children) {
    const child = nodes[index];
    if (!child) continue;
    const end = Math.min(child.endNano, node.endNano);
    const start = Math.max(child.startNano, until);
    if (end > start) sum += end - start;
    until = Math.max(until, end);
  }
  return sum;
}

/** By the first member's index: the members of each run of LEAST_RUN or more siblings that do the same. */
export function findRuns(nodes: readonly SpanNode[], roots: readonly number[]): ReadonlyMap<number, readonly number[]> {
  const runs = new Map<number, readonly number[]>();
  collect(nodes, roots, runs);
  for (const node of nodes) if (node.children.length >= LEAST_RUN) collect(nodes, node.children, runs);
  return runs;
}

function collect(nodes: readonly SpanNode[], siblings: readonly number[], runs: Map<number, readonly number[]>): void {
  for (let from = 0; from < siblings.length; ) {
    let to = from + 1;
    while (to < siblings.length && doTheSame(nodes[siblings[from] ?? -1], nodes[siblings[to] ?? -1])) ++to;
    if (to - from >= LEAST_RUN) runs.set(siblings[from] ?? -1, siblings.slice(from, to));
    from = to;
  }
}

function doTheSame(one: SpanNode | undefined, other: SpanNode | undefined): boolean {
  const [first, second] = [one?.span, other?.span];
  return (
    first !== undefined &&
    second !== undefined &&
    first.operation === second.operation &&
    first.service === second.service &&
    first.kind === second.kind
  );
}
