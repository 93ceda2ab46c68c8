// What is said of a span's clock, for people.
import type { TraceSpan } from "@/api/generated/answers";
import { formatDuration } from "@/time/nano";

/** A start is right within the clock's error and 1000 ppm of the duration; undefined: nobody measured the clock. */
export function startErrorNano(span: TraceSpan): number | undefined {
  return span.clock && span.clock.error_nano + Math.round(Number(span.duration_nano) / 1000);
}

export function clockText(span: TraceSpan): string {
  if (!span.clock) return "not measured; times are as sent";
  const { offset_nano: offset, error_nano: error } = span.clock;
  const sign = offset < 0 ? "−" : "+";
  return `${sign}${formatDuration(Math.abs(offset))} ± ${formatDuration(error)}`;
}
