// A recording of instructions that was made for another request: in a process of this trace, or else of one of its services
// on the same host. Of ten requests that wait for one lock one is recorded. Pure but for `ask`, which is given.
import type { SnapshotAnswer, SnapshotRow, SnapshotsAnswer, TraceAnswer } from "@/api/generated/answers";
import type { Asker } from "@/parts/held_lock";
import { sentBetween } from "@/time/rfc3339";

/** What is told says how far apart they are. */
const NEAR_NANO = 3_600_000_000_000n;
const MOST_LISTED = 100;
const MOST_LOOKED_AT = 4;

/** By host, the processes that had spans of the trace. */
export function processesOf({ resources }: Pick<TraceAnswer, "resources">): ReadonlyMap<string, ReadonlySet<number>> {
  const found = new Map<string, Set<number>>();
  for (const { attributes } of resources) {
    const [host, pid] = [attributes["host.name"], Number(attributes["process.pid"])];
    if (typeof host !== "string" || !Number.isInteger(pid)) continue;
    found.set(host, (found.get(host) ?? new Set()).add(pid));
  }
  return found;
}

/** Those on hosts of the trace, the nearest in time first. */
export function nearest(rows: readonly SnapshotRow[], hosts: ReadonlySet<string>, middle: bigint): SnapshotRow[] {
  const apart = ({ taken_unix_nano: taken }: SnapshotRow) => {
    const by = BigInt(taken) - middle;
    return by < 0n ? -by : by;
  };
  const here = rows.filter(({ host, damaged }) => hosts.has(host) && !damaged);
  return here.sort((one, other) => (apart(one) < apart(other) ? -1 : 1));
}

export interface Nearby {
  readonly id: string;
  /** What it shares with the trace. */
  readonly same: "process" | "service";
  /** How long after the trace began it was taken. */
  readonly laterNano: number;
}

/** Undefined: there is none. */
export async function findNearby(answer: TraceAnswer, ask: Asker): Promise<Nearby | undefined> {
  const processes = processesOf(answer);
  if (processes.size === 0) return undefined;
  const start = BigInt(answer.start_time_unix_nano);
  const end = start + BigInt(answer.duration_nano);
  const range = { ...sentBetween({ from: start - NEAR_NANO, to: end + NEAR_NANO }), limit: MOST_LISTED };
  const { snapshots } = await ask<SnapshotsAnswer>("snapshots", range);
  const near = nearest(snapshots, new Set(processes.keys()), (start + end) / 2n).slice(0, MOST_LOOKED_AT);
  const found = (row: SnapshotRow, same: Nearby["same"]) =>
    ({ id: row.id, same, laterNano: Number(BigInt(row.taken_unix_nano) - start) }) as const;
  for (const row of near) {
    const { threads } = await ask<SnapshotAnswer>(`snapshots/${row.id}`);
    if (threads?.some(({ pid }) => processes.get(row.host)?.has(pid))) return found(row, "process");
  }
  for (const row of near) if (await sameService(answer, row, ask)) return found(row, "service");
  return undefined;
}

/** Whether the span that it was recorded for is of one of the trace's services. */
async function sameService(answer: TraceAnswer, { trigger }: SnapshotRow, ask: Asker): Promise<boolean> {
  if (!trigger.trace_id) return false;
  const { spans } = await ask<TraceAnswer>(`traces/${trigger.trace_id}`);
  const service = spans.find(({ span_id: id }) => id === trigger.span_id)?.service;
  return service !== undefined && answer.resources.some((resource) => resource.service === service);
}
