// Times as the server says them: instants are whole nanoseconds since 1970 in a bigint, because no floating point number
// holds them; durations are numbers (104 days are below 2^53; beyond them the last digits are lost).

export type UnixNano = bigint;

export const NANOS_PER_SECOND = 1_000_000_000n;

const UNITS: readonly (readonly [number, string])[] = [
  [365.25 * 86400e9, "y"],
  [86400e9, "d"],
  [3600e9, "h"],
  [60e9, "min"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
];

/** "1.24 s", "83 ms", "7 ns": three digits that count, the unit in which the number is at least one. */
export function formatDuration(nano: number): string {
  if (nano < 0) return `−${formatDuration(-nano)}`;
  for (const [size, unit] of UNITS) {
    // 999.6 ms are a second, with three digits.
    if (nano >= size * 0.9995) return `${threeDigits(nano / size)} ${unit}`;
  }
  return `${Math.round(nano)} ns`;
}

function threeDigits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? trimmed(value.toFixed(1)) : trimmed(value.toFixed(2));
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Every digit: "1,240,000,007 ns"; a number beyond 2^53, which has lost some, says so. */
export function formatExactNano(nano: number | bigint): string {
  const lossy = typeof nano === "number" && !Number.isSafeInteger(nano);
  return `${lossy ? "about " : ""}${(lossy ? BigInt(Math.round(nano)) : nano).toString().replace(/\B(?=(\d{3})+$)/g, ",")} ns`;
}

export type Zone = "local" | "utc";

let usual: Zone = "local";

/** Whose clock instants are read by where a caller does not say it. The address says it to all views at once. */
export function setUsualZone(zone: Zone): void {
  usual = zone;
}

export function readZone(text: string | undefined): Zone {
  return text === "utc" ? "utc" : "local";
}

/** "UTC", "UTC+02:00": how that clock stands at that instant. */
export function offsetName(zone: Zone, at: UnixNano = nowUnixNano()): string {
  const minutes = zone === "utc" ? 0 : -new Date(Number(at / 1_000_000n)).getTimezoneOffset();
  const two = (value: number) => value.toString().padStart(2, "0");
  const away = Math.abs(minutes);
  return minutes === 0 ? "UTC" : `UTC${minutes < 0 ? "−" : "+"}${two(Math.floor(away / 60))}:${two(away % 60)}`;
}

function parts(at: UnixNano, zone: Zone): { date: string; time: string } {
  const when = new Date(Number(at / 1_000_000n));
  const two = (value: number) => value.toString().padStart(2, "0");
  if (zone === "utc") {
    const text = when.toISOString();
    return { date: text.slice(0, 10), time: text.slice(11, 19) };
  }
  return {
    date: `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())}`,
    time: `${two(when.getHours())}:${two(when.getMinutes())}:${two(when.getSeconds())}`,
  };
}

/** "2026-11-21 14:03:07.123456789", with as many digits behind the point as are asked for. */
export function formatInstant(at: UnixNano, digits = 3, zone: Zone = usual): string {
  const { date, time } = parts(at, zone);
  const fraction = (((at % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND).toString().padStart(9, "0");
  return `${date} ${time}${digits > 0 ? `.${fraction.slice(0, digits)}` : ""}`;
}

/** "14:03" or "14:03:07": for axes, whose ticks are minutes or more apart, or seconds. */
export function formatClock(at: UnixNano, seconds: boolean, zone: Zone = usual): string {
  const { time } = parts(at, zone);
  return seconds ? time : time.slice(0, 5);
}

export function nowUnixNano(): UnixNano {
  return BigInt(Date.now()) * 1_000_000n;
}
