// Axes: where round times and round durations lie. Positions are in columns and rows of the picture, not pixels.
import { formatClock, formatDuration, formatInstant, type UnixNano, type Zone } from "@/time/nano";

export interface Tick {
  /** In columns from the left, or rows from the bottom. */
  readonly at: number;
  readonly label: string;
  /** A date, a power of ten: drawn stronger. */
  readonly major: boolean;
}

const SECOND = 1e9;
const TIME_STEPS: readonly number[] = [
  ...[1e3, 1e4, 1e5, 1e6, 1e7, 1e8].flatMap((nano) => [nano, 2 * nano, 5 * nano]),
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800].map((seconds) => seconds * SECOND),
  ...[1, 2, 3, 6, 12, 24, 48, 168].map((hours) => hours * 3600 * SECOND),
];

/** The finest round step of which at most `most` fit in `length`. */
export function timeStep(lengthNano: number, most: number): number {
  return TIME_STEPS.find((step) => lengthNano / step <= most) ?? 672 * 3600 * SECOND;
}

/** Round by the reader's clock: in local time, a day begins at the reader's midnight. */
export function timeTicks(start: UnixNano, stepNano: number, columns: number, most: number, zone: Zone): Tick[] {
  const length = stepNano * columns;
  const tick = timeStep(length, most);
  const shift = zoneOffset(start, zone);
  const past = Number((((start + shift) % BigInt(tick)) + BigInt(tick)) % BigInt(tick));
  const ticks: Tick[] = [];
  for (let offset = past === 0 ? 0 : tick - past; offset <= length; offset += tick) {
    ticks.push(timeTick(start + BigInt(offset), offset / stepNano, tick, zone));
  }
  return ticks;
}

function zoneOffset(at: UnixNano, zone: Zone): bigint {
  return zone === "utc" ? 0n : BigInt(-new Date(Number(at / 1_000_000n)).getTimezoneOffset()) * 60_000_000_000n;
}

function timeTick(instant: UnixNano, at: number, tick: number, zone: Zone): Tick {
  const midnight = formatClock(instant, true, zone) === "00:00:00" && tick >= SECOND;
  if (midnight) return { at, label: formatInstant(instant, 0, zone).slice(5, 10), major: true };
  if (tick >= 60 * SECOND) return { at, label: formatClock(instant, false, zone), major: false };
  if (tick >= SECOND) return { at, label: formatClock(instant, true, zone), major: false };
  const digits = tick >= 1e6 ? 3 : tick >= 1e3 ? 6 : 9;
  return { at, label: formatInstant(instant, digits, zone).slice(14), major: false };
}

/** Where a duration lies among rows that share bounds: row i is above bound i, up to bound i + 1; log within a row. */
export function rowPosition(bounds: readonly number[], nano: number): number {
  const rows = bounds.length - 1;
  if (rows < 1 || nano <= (bounds[0] ?? 0)) return 0;
  const row = bounds.findIndex((bound) => nano <= bound) - 1;
  if (row < 0) return rows;
  const low = Math.max(bounds[row] ?? 0, 1);
  const high = Math.max(bounds[row + 1] ?? 1, low);
  return row + (high > low ? Math.log(nano / low) / Math.log(high / low) : 1);
}

const MINUTE = 60 * SECOND;
// Round where people read them: tens below a minute, then 1, 2, 5 ... minutes and hours.
const DECADES: readonly number[] = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, SECOND, 10 * SECOND];
const LONG: readonly number[] = [1, 10, 60, 600, 1440, 14400].map((minutes) => minutes * MINUTE);
// 365.25 days, as durations are written.
const YEARS: readonly number[] = [1, 10, 100].map((years) => years * 525_960 * MINUTE);
const FACTORS: readonly number[] = [2, 5];
// A minute and an hour are no tens of what is before them.
const BETWEEN: readonly number[] = [
  ...[...DECADES.slice(0, -1), MINUTE, 10 * MINUTE, ...YEARS].flatMap((nano) => FACTORS.map((factor) => factor * nano)),
  ...[20, 30, 40].map((seconds) => seconds * SECOND),
  ...[30, 120, 360, 2880, 7200, 43_200, 144_000].map((minutes) => minutes * MINUTE),
];

/** At least `apart` rows lie between two of them; powers of ten come first. */
export function durationTicks(bounds: readonly number[], apart: number): Tick[] {
  const [low, high] = [bounds[0] ?? 0, bounds[bounds.length - 1] ?? 0];
  const ticks: Tick[] = [];
  const put = (nano: number, major: boolean): void => {
    if (nano < low || nano > high) return;
    const at = rowPosition(bounds, nano);
    if (ticks.every((tick) => Math.abs(tick.at - at) >= apart)) ticks.push({ at, label: formatDuration(nano), major });
  };
  for (const nano of [...DECADES, ...LONG, ...YEARS]) put(nano, true);
  for (const nano of BETWEEN) put(nano, false);
  return ticks.sort((one, other) => one.at - other.at);
}
