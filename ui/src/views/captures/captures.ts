// What the list of captures says of each, and what it is asked for.
import type { CaptureRow, CaptureTrigger } from "@/api/generated/answers";
import type { Params } from "@/api/ask";
import type { Place } from "@/state/place";
import { lossText } from "@/parts/loss";
import { formatDuration } from "@/time/nano";

export const TRIGGERS: Readonly<Record<CaptureTrigger, string>> = {
  overdue: "still running beyond its threshold",
  slow: "over its threshold at its end",
  error: "ended with an error",
  requested: "asked for by a person",
  program: "asked for by the program",
  crash: "the process crashed",
  remote: "another node of the trace was triggered",
  unknown: "not known",
};

export const RANGES: readonly (readonly [string, string])[] = [
  ["15m", "15 minutes"],
  ["1h", "hour"],
  ["6h", "6 hours"],
  ["", "day"],
  ["7d", "7 days"],
  ["30d", "30 days"],
];

/** Without any word about time, the last day. */
export function questionOf(place: Place): Params {
  const { service, trigger, since, from, to, trace_id } = place.query;
  const ranged = from !== undefined || to !== undefined || trace_id !== undefined;
  return { service, trigger, trace_id, from, to, since: ranged ? undefined : (since ?? "1d"), limit: 100 };
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
  return capture.operation || TRIGGERS[capture.trigger];
}

export function windowText(capture: CaptureRow): string {
  return formatDuration(durationOf(capture));
}
