// Who is whose parent in a trace that may lack spans, have two of one id, or be hostile: after this there is a forest,
// every span is in it once, and nothing is in a cycle.
import type { TraceSpan } from "@/api/generated/answers";

export interface Parents {
  /** Of each span: the index of its parent; -1 of a root; `spans.length + k` of the k-th missing one. */
  readonly parent: Int32Array;
  /** Ids that spans name as their parent and that are not stored. */
  readonly missing: readonly string[];
  /** Spans that were in a cycle, and were made roots to break it. */
  readonly cut: ReadonlySet<number>;
}

export function findParents(spans: readonly TraceSpan[]): Parents {
  const { first, next } = spansById(spans);
  const missing = new Map<string, number>();
  const parent = new Int32Array(spans.length).fill(-1);
  spans.forEach((span, index) => {
    const named = span.parent_span_id;
    if (named === "") return;
    const found = first.get(named);
    if (found !== undefined) parent[index] = likeliest(spans, found, next, span);
    else {
      if (!missing.has(named)) missing.set(named, spans.length + missing.size);
      parent[index] = missing.get(named) ?? -1;
    }
  });
  return { parent, missing: [...missing.keys()], cut: breakCycles(parent) };
}

interface ById {
  readonly first: ReadonlyMap<string, number>;
  /** Of a span: the next one that has its id. */
  readonly next: ReadonlyMap<number, number>;
}

function spansById(spans: readonly TraceSpan[]): ById {
  const first = new Map<string, number>();
  const last = new Map<string, number>();
  const next = new Map<number, number>();
  spans.forEach(({ span_id: id }, index) => {
    const before = first.get(id);
    if (before === undefined) first.set(id, index);
    else {
      next.set(last.get(id) ?? before, index);
      last.set(id, index);
    }
  });
  return { first, next };
}

/** A trace may be made to have one id a thousand times. */
const MOST_LOOKED_AT = 16;

/** Of several spans with one id (a client and its server may share it) the parent is the one in the child's process. */
function likeliest(spans: readonly TraceSpan[], first: number, next: ById["next"], child: TraceSpan): number {
  let at: number | undefined = first;
  for (let looked = 0; at !== undefined && looked < MOST_LOOKED_AT; ++looked) {
    if (spans[at]?.resource === child.resource && spans[at] !== child) return at;
    at = next.get(at);
  }
  return first;
}

function breakCycles(parent: Int32Array): ReadonlySet<number> {
  const cut = new Set<number>();
  const walkOf = new Int32Array(parent.length).fill(-1);
  for (let first = 0; first < parent.length; ++first) {
    let at = first;
    while (at >= 0 && at < parent.length && walkOf[at] === -1) {
      walkOf[at] = first;
      at = parent[at] ?? -1;
    }
    if (at < 0 || at >= parent.length || walkOf[at] !== first) continue;
    const root = earliestOfCycle(parent, at);
    parent[root] = -1;
    cut.add(root);
  }
  return cut;
}

/** Spans come by their start, so the least index is the earliest. */
function earliestOfCycle(parent: Int32Array, within: number): number {
  let earliest = within;
  for (let at = parent[within] ?? within; at !== within; at = parent[at] ?? within) earliest = Math.min(earliest, at);
  return earliest;
}
