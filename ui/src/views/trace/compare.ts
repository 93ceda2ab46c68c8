// Two traces side by side: their spans by the path of (service, operation) from the root, which of these only one of
// them has, and where the time went that one took more. Differences of time on the critical path add up to the
// difference of the two requests; differences of self time show also work that ran beside the path.
import type { CriticalPath } from "./criticalPath";
import { durationOf, type SpanNode, type TraceTree } from "./tree";

export interface Side {
  readonly tree: TraceTree;
  readonly path: CriticalPath;
}

export interface Amount {
  readonly spans: number;
  readonly errors: number;
  /** Sums over the spans. */
  readonly totalNano: number;
  readonly selfNano: number;
  readonly pathNano: number;
}

export interface Compared {
  /** Names all above it, too: the same in both traces. */
  readonly key: string;
  readonly service: string;
  readonly operation: string;
  readonly depth: number;
  readonly one: Amount;
  readonly other: Amount;
  /** Of `one` less `other`. */
  readonly selfNano: number;
  readonly pathNano: number;
  readonly totalNano: number;
  /** Undefined: both have it. */
  readonly onlyIn: "one" | "other" | undefined;
}

export type Order = "self" | "path" | "tree";

const NONE: Amount = { spans: 0, errors: 0, totalNano: 0, selfNano: 0, pathNano: 0 };

interface Place {
  readonly key: string;
  readonly service: string;
  readonly operation: string;
  readonly depth: number;
  one: Amount;
  other: Amount;
  readonly below: Map<string, Place>;
}

/** In the order of the trees; what only the other has comes behind its siblings. */
export function compareTraces(one: Side, other: Side): readonly Compared[] {
  const top = new Map<string, Place>();
  for (const [side, which] of [
    [one, "one"],
    [other, "other"],
  ] as const)
    addSide(top, side, which);
  const rows: Compared[] = [];
  const waiting = [...top.values()].reverse();
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    rows.push(comparedOf(place));
    waiting.push(...[...place.below.values()].reverse());
  }
  return rows;
}

function addSide(top: Map<string, Place>, side: Side, which: "one" | "other"): void {
  const places: Place[] = [];
  for (const node of side.tree.nodes) {
    const above = places[node.parent];
    const place = placeFor(above?.below ?? top, node, above);
    places.push(place);
    place[which] = plus(place[which], side, node);
  }
}

/** A parent that is not stored is the same as any other such. */
function placeFor(among: Map<string, Place>, node: SpanNode, above: Place | undefined): Place {
  const { service, operation } = node.span ?? { service: "", operation: "" };
  const name = `${service}\u0000${operation}`;
  const known = among.get(name);
  if (known) return known;
  const key = keyBelow(above?.key, node);
  const made = { key, service, operation, depth: node.depth, one: NONE, other: NONE, below: new Map<string, Place>() };
  among.set(name, made);
  return made;
}

/** Of each node the key of its path, as in the rows. */
export function keysOfNodes(tree: TraceTree): readonly string[] {
  const keys: string[] = [];
  for (const node of tree.nodes) keys.push(keyBelow(keys[node.parent], node));
  return keys;
}

function keyBelow(above: string | undefined, { span }: SpanNode): string {
  return `${above ?? ""}\u0001${span?.service ?? ""}\u0000${span?.operation ?? ""}`;
}

function plus(amount: Amount, { tree, path }: Side, node: SpanNode): Amount {
  return {
    spans: amount.spans + 1,
    errors: amount.errors + (node.span?.status === "error" ? 1 : 0),
    totalNano: amount.totalNano + durationOf(node),
    selfNano: amount.selfNano + (tree.selfNano[node.index] ?? 0),
    pathNano: amount.pathNano + (path.ownNano[node.index] ?? 0),
  };
}

function comparedOf({ key, service, operation, depth, one, other }: Place): Compared {
  return {
    ...{ key, service, operation, depth, one, other },
    selfNano: one.selfNano - other.selfNano,
    pathNano: one.pathNano - other.pathNano,
    totalNano: one.totalNano - other.totalNano,
    onlyIn: other.spans === 0 ? "one" : one.spans === 0 ? "other" : undefined,
  };
}

/** The greatest difference first, whichever way it goes; or as the trees have them. */
export function ordered(rows: readonly Compared[], order: Order): readonly Compared[] {
  if (order === "tree") return rows;
  const by = (row: Compared) => Math.abs(order === "self" ? row.selfNano : row.pathNano);
  return [...rows].sort((one, other) => by(other) - by(one) || Math.abs(other.totalNano) - Math.abs(one.totalNano));
}

/** The words of a row's path, from the root to it. */
export function pathOf(row: Compared): readonly string[] {
  return row.key
    .split("\u0001")
    .slice(1)
    .map((name) => name.replace("\u0000", " "));
}
