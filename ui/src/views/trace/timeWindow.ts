// Which part of a trace's time is in sight: offsets from the trace's origin, in nanoseconds.

export interface TimeWindow {
  readonly fromNano: number;
  readonly toNano: number;
}

/** Less is no picture any more; times are whole nanoseconds. */
export const LEAST_NANO = 20;

export function wholeWindow(durationNano: number): TimeWindow {
  return { fromNano: 0, toNano: Math.max(durationNano, LEAST_NANO) };
}

export function lengthOf({ fromNano, toNano }: TimeWindow): number {
  return toNano - fromNano;
}

/** The window moved and cut so that it lies in the trace. */
export function within(window: TimeWindow, durationNano: number): TimeWindow {
  const whole = wholeWindow(durationNano);
  const length = Math.min(Math.max(lengthOf(window), LEAST_NANO), whole.toNano);
  const fromNano = Math.min(Math.max(window.fromNano, 0), whole.toNano - length);
  return { fromNano, toNano: fromNano + length };
}

/** `factor` below 1 shows less. What is at `share` of the window (0 to 1) stays where it is. */
export function zoomed(window: TimeWindow, factor: number, share: number, durationNano: number): TimeWindow {
  const length = Math.min(Math.max(lengthOf(window) * factor, LEAST_NANO), wholeWindow(durationNano).toNano);
  const fromNano = window.fromNano + share * (lengthOf(window) - length);
  return within({ fromNano, toNano: fromNano + length }, durationNano);
}

/** By a share of its own length. */
export function panned(window: TimeWindow, share: number, durationNano: number): TimeWindow {
  const by = share * lengthOf(window);
  return within({ fromNano: window.fromNano + by, toNano: window.toNano + by }, durationNano);
}

/** A stretch with some room at its sides. */
export function around(fromNano: number, toNano: number, durationNano: number): TimeWindow {
  const room = Math.max((toNano - fromNano) * 0.1, LEAST_NANO);
  return within({ fromNano: fromNano - room, toNano: toNano + room }, durationNano);
}

export function isWhole(window: TimeWindow, durationNano: number): boolean {
  return window.fromNano <= 0 && window.toNano >= wholeWindow(durationNano).toNano;
}

/** How wide the window is drawn: at the right there is room for how long a bar lasted. */
export function timeWidth(width: number, fontPixels: number): number {
  return Math.max(width - fontPixels * 5, width / 2);
}

export interface Tick {
  readonly atNano: number;
  readonly label: string;
}

const UNITS: readonly (readonly [number, string])[] = [
  [365.25 * 86400e9, "y"],
  [86400e9, "d"],
  [3600e9, "h"],
  [60e9, "min"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];
const SECOND = 1e9;

/** Round instants of the window, `most` at most, in one unit and with as many digits as tell them apart. */
export function ticksOf(window: TimeWindow, most: number): readonly Tick[] {
  const step = roundStep(lengthOf(window) / Math.max(1, most));
  const [size, unit] = unitOf(window.toNano, step);
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / size) - 1e-9)));
  const ticks: Tick[] = [];
  for (let nth = Math.ceil(window.fromNano / step); nth * step <= window.toNano; ++nth)
    ticks.push({ atNano: nth * step, label: nth === 0 ? "0" : `${((nth * step) / size).toFixed(digits)} ${unit}` });
  return ticks;
}

// Parts of a minute are seconds, of an hour minutes: nobody counts tenths of them.
function unitOf(largest: number, step: number): readonly [number, string] {
  const fits = largest < 60 * SECOND ? largest : Math.max(step, SECOND);
  return UNITS.find(([nano]) => fits >= nano) ?? [1, "ns"];
}

const LONG_STEPS: readonly number[] = [
  ...[1, 2, 5, 10, 20, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 20, 30].map((minutes) => minutes * 60 * SECOND),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3600 * SECOND),
  ...[1, 2, 5, 10, 20, 50, 100].map((days) => days * 86400 * SECOND),
];
const YEAR = 365.25 * 86400 * SECOND;

function roundStep(atLeast: number): number {
  if (!(atLeast > 1)) return 1;
  if (atLeast > SECOND) return LONG_STEPS.find((step) => step >= atLeast) ?? YEAR * decimalStep(atLeast / YEAR);
  return decimalStep(atLeast);
}

function decimalStep(atLeast: number): number {
  if (atLeast <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(atLeast));
  return power * ([1, 2, 5].find((factor) => factor * power >= atLeast) ?? 10);
}
