// Usual requests, to compare an unusual one with: of the same root operation, whole, without errors or single steps, about
// as long as their median. From the day before, without the hour before the request, so that what made it slow is not
// among them; from the hours around it where there was nothing before, and then that is said.
import type { ask as askServer, Params } from "@/api/ask";
import type { OperationRow, OperationsAnswer, SlowestAnswer, SlowRow } from "@/api/generated/answers";
import { formatDuration } from "@/time/nano";
import { sentBetween } from "@/time/rfc3339";
import { nodeAt, type TraceTree } from "./tree";

export interface Subject {
  readonly traceId: string;
  readonly service: string;
  readonly operation: string;
  readonly kind: string;
  /** Whether its root is stored: else any span of that operation will do. */
  readonly root: boolean;
  readonly startUnixNano: bigint;
}

export interface Stretch {
  readonly from: bigint;
  readonly to: bigint;
}

export interface Usual {
  readonly medianNano: number;
  /** Of which the median is, and from which the traces are. */
  readonly of: Stretch;
  /** Whether what made the request slow may be among them. */
  readonly around: boolean;
  /** The nearest to the median first. */
  readonly rows: readonly SlowRow[];
}

type Ask = typeof askServer;

const MINUTE = 60n * 1_000_000_000n;
const HOUR = 60n * MINUTE;

/** As many as are compared with. */
export const MOST_USUAL = 40;
/** With so many the search ends; fewer are taken where there are no more. */
const ENOUGH = 24;
/** A median of fewer spans than that says nothing of what is usual. */
const LEAST_SPANS = 5;
const PER_QUESTION = 12;
/** By how much longer than the median one may be. */
const ABOVE = 1.1;
/** And how much shorter. */
const BELOW = 0.6;

/** What the trace is a request of: its root's operation, or that of its earliest span. */
export function subjectOf(traceId: string, tree: TraceTree, root: number | undefined): Subject | undefined {
  const node = root === undefined ? tree.nodes.find((one) => one.span) : nodeAt(tree, root);
  if (!node?.span) return undefined;
  const { service, operation, kind } = node.span;
  return { traceId, service, operation, kind, root: root !== undefined, startUnixNano: tree.originNano };
}

/** The day before, up to an hour before it; then the hours around it. */
export function baselines(start: bigint): readonly (Stretch & { readonly around: boolean })[] {
  return [
    { from: start - 25n * HOUR, to: start - HOUR, around: false },
    { from: start - HOUR, to: start + HOUR, around: true },
  ];
}

/** Where one looks, one after the other: minutes from all over the day are read sooner than all of it. */
export function placesWithin({ from, to }: Stretch): readonly Stretch[] {
  const minutes = [0n, 1n, 3n, 7n, 15n, 23n]
    .map((hours) => to - hours * HOUR)
    .filter((end) => end - 10n * MINUTE >= from)
    .map((end) => ({ from: end - 10n * MINUTE, to: end }));
  return [...minutes, { from, to }];
}

export function medianOf(rows: readonly OperationRow[], { operation, kind }: Subject): number | undefined {
  const named = rows.filter((row) => row.operation === operation && row.spans >= LEAST_SPANS);
  return (named.find((row) => row.kind === kind) ?? named[0])?.p50_nano;
}

/** Whole ones without errors and single steps, each once, of which the span is the root; the nearest to the median first. */
export function mostUsual(rows: readonly SlowRow[], subject: Subject, medianNano: number): readonly SlowRow[] {
  const off = (row: SlowRow) => Math.abs(row.duration_nano - medianNano);
  const isUsual = (row: SlowRow) =>
    row.trace_id !== subject.traceId &&
    row.complete &&
    !row.error &&
    !row.stepped &&
    (!subject.root || row.root_duration_nano === row.duration_nano);
  const sorted = rows.filter(isUsual).sort((one, other) => off(one) - off(other));
  return [...new Map(sorted.map((row) => [row.trace_id, row] as const)).values()].slice(0, MOST_USUAL);
}

/** Rows come slowest first: so these are the ones just below the median, and just below what is a little above it. */
export function boundsAround(medianNano: number): readonly Params[] {
  const at = (factor: number) => `${Math.max(1, Math.round(medianNano * factor))}ns`;
  return [1, ABOVE].map((most) => ({ min_duration: at(BELOW), max_duration: at(most) }));
}

/** Fails with words for people. */
export async function findUsual(subject: Subject, ask: Ask, signal?: AbortSignal): Promise<Usual> {
  const { service, operation } = subject;
  let known: number | undefined;
  for (const { around, ...of } of baselines(subject.startUnixNano)) {
    const { operations } = await ask<OperationsAnswer>("operations", { service, ...sentBetween(of) }, signal);
    const median = medianOf(operations, subject);
    if (median === undefined) continue;
    known ??= median;
    const rows = await rowsOf(subject, of, median, ask, signal);
    if (rows.length > 0) return { medianNano: median, of, around, rows };
  }
  if (known === undefined)
    throw new Error(
      `fewer than ${LEAST_SPANS} spans of ${service} ${operation} are known of the day before this trace`,
    );
  throw new Error(`no other trace of ${service} ${operation} lasted about its median, ${formatDuration(known)}`);
}

async function rowsOf(subject: Subject, of: Stretch, median: number, ask: Ask, signal: AbortSignal | undefined) {
  const { service, operation } = subject;
  const all: SlowRow[] = [];
  for (const place of placesWithin(of)) {
    for (const bounds of boundsAround(median)) {
      const what = { by: "span", service, operation, ...sentBetween(place), ...bounds, limit: PER_QUESTION };
      const { rows } = await ask<SlowestAnswer>("slowest", what, signal);
      all.push(...rows);
    }
    const usual = mostUsual(all, subject, median);
    if (usual.length >= ENOUGH) return usual;
  }
  return mostUsual(all, subject, median);
}
