// The range of time that a view shows: until now ("since"), or between two instants. In the address as the server's own
// parameters are called.
import { formatClock, formatInstant, type UnixNano, type Zone } from "./nano";
import { readInstant, writeInstant } from "./rfc3339";

export interface Between {
  readonly from: UnixNano;
  readonly to: UnixNano;
}
export type Range = { readonly since: string } | Between;

export const DEFAULT_RANGE: Range = { since: "1h" };
export const RECENT: readonly string[] = ["15m", "1h", "6h", "24h", "7d"];

type Words = Readonly<Record<string, string | undefined>>;

export function isBetween(range: Range): range is Between {
  return "from" in range;
}

export function readRange(query: Words): Range {
  const [from, to] = [readInstant(query["from"]), readInstant(query["to"])];
  if (from !== undefined && to !== undefined && from < to) return { from, to };
  const since = query["since"];
  return since && sinceNano(since) !== undefined ? { since } : DEFAULT_RANGE;
}

/** The words of the query that say it; undefined takes a word out. */
export function rangeWords(range: Range): { since?: string; from?: string; to?: string } {
  if (isBetween(range)) return { from: writeInstant(range.from), to: writeInstant(range.to) };
  return range.since === "1h" ? {} : { since: range.since };
}

/** The same for the server, which is told instants as whole nanoseconds. */
export function rangeParams(range: Range): Readonly<Record<string, string>> {
  return isBetween(range) ? { from: range.from.toString(), to: range.to.toString() } : { since: range.since };
}

const UNIT_NANOS: Readonly<Record<string, bigint>> = {
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
};

/** "1h30m" as nanoseconds; undefined for what is no duration. */
export function sinceNano(text: string): bigint | undefined {
  if (!/^(\d{1,6}(ms|s|m|h|d))+$/.test(text)) return undefined;
  let total = 0n;
  for (const [, count = "0", unit = ""] of text.matchAll(/(\d+)(ms|[smhd])/g)) {
    total += BigInt(count) * (UNIT_NANOS[unit] ?? 0n);
  }
  return total > 0n ? total : undefined;
}

/** How long it is, as a number. */
export function lengthNano(range: Range): number {
  return Number(isBetween(range) ? range.to - range.from : (sinceNano(range.since) ?? 0n));
}

/** Where it lies, given what time it is. */
export function between(range: Range, now: UnixNano): Between {
  return isBetween(range) ? range : { from: now - (sinceNano(range.since) ?? 0n), to: now };
}

/** "2026-11-21 14:00 – 15:00": the second date only where it is another one. */
export function formatBetween({ from, to }: Between, zone: Zone): string {
  const exact = Number(to - from) < 180e9;
  const [begin, end] = [formatInstant(from, 0, zone), formatInstant(to, 0, zone)];
  const sameDay = begin.slice(0, 10) === end.slice(0, 10);
  return `${begin.slice(0, 10)} ${clock(from, exact, zone)} – ${sameDay ? "" : `${end.slice(0, 10)} `}${clock(to, exact, zone)}`;
}

function clock(at: UnixNano, exact: boolean, zone: Zone): string {
  if (exact && at % 1_000_000_000n !== 0n) return formatInstant(at, 3, zone).slice(11);
  return formatClock(at, exact || at % 60_000_000_000n !== 0n, zone);
}
