// Ticks of a time axis: round distances from hours down to one nanosecond, written with the digits that they need.

const SECOND = 1e9;
const BEYOND_SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400].map((s) => s * SECOND);

export interface Ticks {
  readonly step: number;
  readonly at: readonly number[];
}

/** Steps are whole nanoseconds. At most `most` ticks, or one more. */
export function ticksOf(begin: number, duration: number, most: number): Ticks {
  const step = roundStep(duration / Math.max(1, most));
  const at: number[] = [];
  for (let tick = Math.ceil(begin / step) * step; tick <= begin + duration; tick += step)
    at.push(tick === 0 ? 0 : tick);
  return { step, at };
}

function roundStep(least: number): number {
  if (least > SECOND) return BEYOND_SECONDS.find((step) => step >= least) ?? Math.ceil(least / 86400e9) * 86400e9;
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}

const UNITS: readonly (readonly [number, string])[] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** "1.250 ms": in the unit of the whole view's size, as exact as `step` needs. */
export function tickLabel(nano: number, step: number, largest: number): string {
  const [size, unit] = UNITS.find(([unitSize]) => largest >= unitSize) ?? [1, "ns"];
  const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
  const text = (Math.abs(nano) / size).toFixed(digits);
  return `${nano < 0 ? "−" : ""}${grouped(text)} ${unit}`;
}

// Groups of three behind the point, too: "1.234 567 ms" is read faster than "1.234567 ms".
function grouped(text: string): string {
  const [whole = "", fraction = ""] = text.split(".");
  return fraction === "" ? whole : `${whole}.${fraction.replace(/(\d{3})(?=\d)/g, "$1\u2009")}`;
}
