// A recording of instructions that was made for another request, in a process of this trace, at about its time: of ten
// requests that wait for one lock one is recorded. Pure but for `ask`, which is given.
import type { SnapshotAnswer, SnapshotRow, SnapshotsAnswer, TraceAnswer } from "@/api/generated/answers";
import type { Asker } from "@/parts/held_lock";

/** A recording's time is that of its end, and a host's clock; stepping takes seconds. */
const NEAR_NANO = 10_000_000_000n;
const MOST_LISTED = 20;
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

/** Undefined: there is none. */
export async function findNearby(answer: TraceAnswer, ask: Asker): Promise<SnapshotAnswer | undefined> {
  const processes = processesOf(answer);
  if (processes.size === 0) return undefined;
  const start = BigInt(answer.start_time_unix_nano);
  const end = start + BigInt(answer.duration_nano);
  const range = { from: String(start - NEAR_NANO), to: String(end + NEAR_NANO), limit: MOST_LISTED };
  const { snapshots } = await ask<SnapshotsAnswer>("snapshots", range);
  const near = nearest(snapshots, new Set(processes.keys()), (start + end) / 2n);
  for (const { id, host } of near.slice(0, MOST_LOOKED_AT)) {
    const found = await ask<SnapshotAnswer>(`snapshots/${id}`);
    if (found.threads?.some(({ pid }) => processes.get(host)?.has(pid))) return found;
  }
  return undefined;
}
