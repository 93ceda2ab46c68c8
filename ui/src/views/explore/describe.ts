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

type Times = Pick<Selection, "from" | "to">;

/** How a time within these is best read where columns last so long: "14:05", "14:05:10.250", "11-22 14:05". */
export function instantWriter(within: Times, stepNano: number, zone: Zone): (at: UnixNano) => string {
  const clock = (at: UnixNano): string => clockText(at, stepNano, zone);
  const day = (at: UnixNano): string => formatInstant(at, 0, zone).slice(5, 10);
  const dated = stepNano >= 3600e9 || day(within.from) !== day(within.to) || within.to - within.from >= DAY;
  return dated ? (at) => `${day(at)} ${clock(at)}` : clock;
}

const DAY = 86_400_000_000_000n;

function clockText(at: UnixNano, stepNano: number, zone: Zone): string {
  if (stepNano < 1e9) return formatInstant(at, stepNano >= 1e6 ? 3 : 9, zone).slice(11);
  return formatClock(at, stepNano % 60e9 !== 0, zone);
}

export function timesText(times: Times, stepNano: number, zone: Zone): string {
  const write = instantWriter(times, stepNano, zone);
  return `${write(times.from)} – ${write(times.to)}`;
}

export function durationsText({ minNano, maxNano }: Pick<Selection, "minNano" | "maxNano">): string {
  if (maxNano >= Number.MAX_SAFE_INTEGER) return `${formatDuration(minNano)} and longer`;
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
