// A box of the heatmap in words: for the pointer's label, the selection's head, and whoever listens.
import { formatCount, formatShare } from "@/parts/figures";
import { formatClock, formatDuration, formatInstant, type UnixNano, type Zone } from "@/time/nano";
import type { Heat, Tally } from "./heat";
import type { Selection } from "./words";

export interface Description {
  readonly time: string;
  readonly durations: string;
  readonly spans: string;
  readonly errors: string;
}

/** As a time is best read where columns last so long: "14:05", "14:05:10", "14:05:10.250". */
function instantText(at: UnixNano, stepNano: number, zone: Zone): string {
  if (stepNano >= 3600e9) return formatInstant(at, 0, zone).slice(5, 16);
  if (stepNano < 1e9) return formatInstant(at, stepNano >= 1e6 ? 3 : 9, zone).slice(11);
  return formatClock(at, stepNano % 60e9 !== 0, zone);
}

export function timesText({ from, to }: Pick<Selection, "from" | "to">, stepNano: number, zone: Zone): string {
  return `${instantText(from, stepNano, zone)} – ${instantText(to, stepNano, zone)}`;
}

export function durationsText({ minNano, maxNano }: Pick<Selection, "minNano" | "maxNano">): string {
  return minNano <= 1 ? `up to ${formatDuration(maxNano)}` : `${formatDuration(minNano)} – ${formatDuration(maxNano)}`;
}

export function describe(heat: Heat, selection: Selection, { count, errors }: Tally, zone: Zone): Description {
  return {
    time: timesText(selection, heat.stepNano, zone),
    durations: durationsText(selection),
    spans: `${formatCount(count)} ${count === 1 ? "span" : "spans"}`,
    errors: errorsText(heat, count, errors),
  };
}

function errorsText({ errorsExact }: Heat, count: number, errors: number): string {
  if (errors === 0 || count === 0) return "no errors";
  const about = errorsExact ? "" : "about ";
  return `${about}${formatCount(errors)} ${Math.round(errors) === 1 ? "error" : "errors"} (${formatShare(errors / count)})`;
}

export function sentence({ time, durations, spans, errors }: Description): string {
  return `${time}, ${durations}: ${spans}, ${errors}`;
}
