// All that is worked out of a trace's document once, for a choice of clock.
import type { TraceAnswer, TraceSpan } from "@/api/generated/answers";
import { colorsOf, type ServiceColors } from "@/draw/service_color";
import { printable } from "@/parts/printable";
import { findCriticalPath, type CriticalPath } from "./criticalPath";
import type { ClockChoice } from "./instants";
import { searchable, type Searchable } from "./search";
import { buildTree, isError, nodeAt, type TraceTree } from "./tree";
import type { Row } from "./rows";

export interface TraceModel {
  readonly answer: TraceAnswer;
  readonly clock: ClockChoice;
  readonly tree: TraceTree;
  readonly path: CriticalPath;
  readonly search: Searchable;
  readonly errors: readonly number[];
  /** The nodes on the critical path, by the tree's order. */
  readonly onPath: readonly number[];
  readonly services: number;
  readonly colors: ServiceColors;
  /** Sums over all nodes before one: what a subtree has is the difference of two. */
  readonly errorsBefore: Float64Array;
  readonly ownBefore: Float64Array;
}

export function makeModel(answer: TraceAnswer, clock: ClockChoice): TraceModel {
  const tree = buildTree(answer, clock);
  const path = findCriticalPath(tree);
  const services = new Set(answer.spans.map((span) => span.service));
  const indexes = tree.nodes.map((node) => node.index);
  return {
    ...{ answer, clock, tree, path },
    search: searchable(tree, answer),
    errors: indexes.filter((index) => isError(nodeAt(tree, index))),
    onPath: indexes.filter((index) => (path.ownNano[index] ?? 0) > 0),
    services: services.size,
    colors: colorsOf(services),
    errorsBefore: sumsBefore(tree.nodes.map((node) => (isError(node) ? 1 : 0))),
    ownBefore: sumsBefore(path.ownNano),
  };
}

function sumsBefore(values: ArrayLike<number>): Float64Array {
  const sums = new Float64Array(values.length + 1);
  for (let index = 0; index < values.length; ++index) sums[index + 1] = (sums[index] ?? 0) + (values[index] ?? 0);
  return sums;
}

export interface RowSums {
  /** Of what the row stands for: the span alone where it is open, with all below it where it is closed. */
  readonly errors: number;
  readonly ownNano: number;
}

export function rowSums(model: TraceModel, row: Row): RowSums {
  const { tree, errorsBefore, ownBefore } = model;
  const last = row.run?.at(-1) ?? row.node;
  const after = row.run || row.open === false ? nodeAt(tree, last).after : row.node + 1;
  const within = (sums: Float64Array) => (sums[after] ?? 0) - (sums[row.node] ?? 0);
  return { errors: within(errorsBefore), ownNano: within(ownBefore) };
}

/** As it is shown. */
export function nameOf(span: TraceSpan): string {
  return printable(span.name ?? span.operation);
}

/** What the trace is called: its root, or its earliest span. */
export function titleSpan({ tree, path }: TraceModel): TraceSpan | undefined {
  return path.root === undefined ? tree.nodes.find((node) => node.span)?.span : nodeAt(tree, path.root).span;
}

export function missingParents(model: TraceModel): number {
  return model.tree.nodes.filter((node) => !node.span).length;
}

export interface Found {
  readonly node: number;
  readonly run: readonly number[] | undefined;
}

/** What a row's key means; undefined: nothing of this trace. */
export function lookUp(tree: TraceTree, key: string): Found | undefined {
  const ofRun = key.startsWith("x");
  const node = tree.byKey.get(ofRun ? key.slice(1) : key);
  const run = node !== undefined && ofRun ? tree.runs.get(node) : undefined;
  return node === undefined || (ofRun && !run) ? undefined : { node, run };
}
