// What the list of captures says of each, and what it is asked for.
import type { CaptureRow } from "@/api/generated/answers";
import type { Params } from "@/api/ask";
import type { Place } from "@/state/place";
import { lossText } from "@/parts/loss";
import { formatDuration } from "@/time/nano";
import { rangeParams, readRange, type Range } from "@/time/range";
import { sinceNano } from "@/time/since";

/** Words for triggers; one that is newer than the page has none. */
export const TRIGGERS: Readonly<Record<string, string>> = {
  overdue: "still running beyond its threshold",
  slow: "over its threshold, or among the slowest",
  error: "ended with an error",
  requested: "asked for by a person",
  program: "asked for by the program",
  crash: "the process crashed",
  remote: "another process of the trace was triggered",
};

/** Without any word about time, the last day; of a trace, any time. */
export function rangeOf(query: Place["query"]): Range | undefined {
  if ([query["since"], query["from"], query["to"]].some((word) => word !== undefined)) return readRange(query);
  return query["trace_id"] === undefined ? LAST_DAY : undefined;
}

const LAST_DAY: Range = { since: "24h" };

/** As many as the server gives at once, so that one sorts and counts all of what is usual. */
const MOST_ROWS = 1000;

/** `trigger` is not asked for where all are counted. */
export function questionOf({ query }: Place, trigger = query["trigger"]): Params {
  const { service, trace_id } = query;
  const range = rangeOf(query);
  return { service, trigger: trigger || undefined, trace_id, ...(range && rangeParams(range)), limit: MOST_ROWS };
}

/** How many of each trigger; those that there are none of are left out, the chosen one is not. */
export function countsOf(
  rows: readonly CaptureRow[],
  chosen: string | undefined,
): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>(chosen ? [[chosen, 0]] : []);
  for (const { trigger } of rows) counts.set(trigger, (counts.get(trigger) ?? 0) + 1);
  return [...counts].sort(([one, few], [other, many]) => many - few || one.localeCompare(other));
}

/** Windows that lasted at least so long; what is no duration keeps all. */
export function lastingAtLeast(rows: readonly CaptureRow[], text: string | undefined): readonly CaptureRow[] {
  const least = text === undefined ? undefined : sinceNano(text);
  return least === undefined ? rows : rows.filter((row) => durationOf(row) >= Number(least));
}

export function durationOf(capture: CaptureRow): number {
  return Number(BigInt(capture.end_time_unix_nano) - BigInt(capture.start_time_unix_nano));
}

/** What one should know before one trusts it, the gravest first. */
export function doubtsOf(capture: CaptureRow): string[] {
  const doubts: string[] = [];
  if (capture.damaged) doubts.push("damaged: its content is gone");
  if (capture.truncated) doubts.push("cut");
  if (capture.crosses_clock_jump) doubts.push("a clock jumped within it");
  if (!capture.clock) doubts.push("clock not measured");
  for (const loss of capture.losses) doubts.push(`lost ${lossText(loss)}`);
  return doubts;
}

/** "shop.Inventory/Reserve": the span that was the reason; "" where there is none. */
export function reasonOf(capture: CaptureRow): string {
  return capture.operation || (TRIGGERS[capture.trigger] ?? capture.trigger);
}

export function windowText(capture: CaptureRow): string {
  return formatDuration(durationOf(capture));
}
