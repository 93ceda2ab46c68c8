// When the spans of a trace began, by one of two clocks: as they were sent, or corrected by what was measured of the
// sender's clock. Absolute instants stay bigints; a view has offsets from its origin, the earliest start, which fit.
import type { TraceSpan } from "@/api/generated/answers";
import type { UnixNano } from "@/time/nano";

export type ClockChoice = "corrected" | "sent";

export interface SpanTimes {
  readonly originNano: UnixNano;
  /** Of each span, in the answer's order, from the origin. */
  readonly startNano: Float64Array;
  readonly endNano: Float64Array;
}

export function startOf(span: TraceSpan, choice: ClockChoice): UnixNano {
  const corrected = choice === "corrected" ? span.corrected_start_time_unix_nano : undefined;
  return BigInt(corrected ?? span.start_time_unix_nano);
}

export function spanTimes(spans: readonly TraceSpan[], choice: ClockChoice): SpanTimes {
  const starts = spans.map((span) => startOf(span, choice));
  const originNano = starts.reduce((least, at) => (at < least ? at : least), starts[0] ?? 0n);
  const startNano = Float64Array.from(starts, (at) => Number(at - originNano));
  // A duration beyond 2^53, which only a broken program sends, arrives as a bigint.
  const endNano = startNano.map((start, index) => start + Math.max(0, Number(spans[index]?.duration_nano ?? 0)));
  return { originNano, startNano, endNano };
}
