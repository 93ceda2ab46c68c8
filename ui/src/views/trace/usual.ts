// A usual trace of an operation, to compare an unusual one with: complete, without errors, and of about the median
// duration, from the hours around it.
import { ask, type Params } from "@/api/ask";
import { formatDuration } from "@/time/nano";
import type { TraceTree } from "./tree";

/** What is read of the answers. */
export interface OperationRow {
  readonly operation: string;
  readonly kind: string;
  readonly spans: number;
  readonly p50_nano: number;
}
export interface TraceRow {
  readonly trace_id: string;
  readonly duration_nano: number;
  readonly complete: boolean;
  readonly error: boolean;
}

export interface Subject {
  readonly traceId: string;
  readonly service: string;
  readonly operation: string;
  readonly kind: string;
  readonly startUnixNano: bigint;
}

const HOUR_NANO = 3600n * 1_000_000_000n;

/** By how much the duration may differ from the median, tried one after the other. */
const NEARNESS = [0.1, 0.3, 0.6];

/** What the trace is a request of: its root's operation, or that of its earliest span. */
export function subjectOf(traceId: string, tree: TraceTree, root: number | undefined): Subject | undefined {
  const node = root === undefined ? tree.nodes.find((one) => one.span) : tree.nodes[root];
  if (!node?.span) return undefined;
  const { service, operation, kind } = node.span;
  return { traceId, service, operation, kind, startUnixNano: tree.originNano };
}

export function rangeAround(startUnixNano: bigint): { from: string; to: string } {
  return { from: (startUnixNano - HOUR_NANO).toString(), to: (startUnixNano + HOUR_NANO).toString() };
}

export function medianOf(rows: readonly OperationRow[], { operation, kind }: Subject): number | undefined {
  const named = rows.filter((row) => row.operation === operation);
  return (named.find((row) => row.kind === kind) ?? named[0])?.p50_nano;
}

/** The row nearest to the median; complete ones without an error before all others. */
export function mostUsual(rows: readonly TraceRow[], traceId: string, medianNano: number): TraceRow | undefined {
  const flaws = (row: TraceRow) => (row.complete ? 0 : 1) + (row.error ? 1 : 0);
  const off = (row: TraceRow) => Math.abs(row.duration_nano - medianNano);
  return rows
    .filter((row) => row.trace_id !== traceId)
    .sort((one, other) => flaws(one) - flaws(other) || off(one) - off(other))[0];
}

export function boundsAround(medianNano: number, nearness: number): Params {
  const at = (factor: number) => `${Math.max(1, Math.round(medianNano * factor))}ns`;
  return { min_duration: at(1 - nearness), max_duration: at(1 + nearness) };
}

/** The id of a usual trace. Fails with words for people. */
export async function findUsual(subject: Subject, signal?: AbortSignal): Promise<string> {
  const { service, operation } = subject;
  const range = rangeAround(subject.startUnixNano);
  const known = await ask<{ operations: OperationRow[] }>("operations", { service, ...range }, signal);
  const median = medianOf(known.operations, subject);
  if (median === undefined)
    throw new Error(`nothing is known of ${service} ${operation} in the hours around this trace`);
  for (const by of ["trace", "span"]) {
    for (const nearness of NEARNESS) {
      const what = { by, service, operation, ...range, ...boundsAround(median, nearness), limit: 50 };
      const { rows } = await ask<{ rows: TraceRow[] }>("slowest", what, signal);
      const found = mostUsual(rows, subject.traceId, median);
      if (found) return found.trace_id;
    }
  }
  throw new Error(`no other trace of ${service} ${operation} lasted about its median, ${formatDuration(median)}`);
}
