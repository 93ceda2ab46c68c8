// The range of time that a view shows: until now ("since"), or between two instants. In the address as the server's own
// parameters are called.
import { formatClock, formatInstant, nowUnixNano, readZone, type UnixNano, type Zone } from "./nano";
import { readInstant, sentBetween, writeInstant } from "./rfc3339";
import { sinceNano } from "./since";
import { parseRange } from "./when";

export interface Between {
  readonly from: UnixNano;
  readonly to: UnixNano;
}
export type Range = { readonly since: string } | Between;

export const DEFAULT_RANGE: Range = { since: "1h" };
export const RECENT: readonly string[] = ["5m", "15m", "1h", "6h", "24h", "7d"];

type Words = Readonly<Record<string, string | undefined>>;

export function isBetween(range: Range): range is Between {
  return "from" in range;
}

export function readRange(query: Words, now: UnixNano = nowUnixNano()): Range {
  const said = saidRange(query, now);
  return "problem" in said ? DEFAULT_RANGE : said;
}

/** What of the address cannot be read as a range, and what is shown instead; undefined where nothing is wrong. */
export function rangeProblem(query: Words, now: UnixNano = nowUnixNano()): string | undefined {
  const said = saidRange(query, now);
  return "problem" in said ? `The address: ${said.problem.replace(/\.$/, "")}. The last hour is shown.` : undefined;
}

/** Exact instants, as the page writes them, or whatever the fields take, as somebody typed it into the address. */
function saidRange(query: Words, now: UnixNano): Range | { readonly problem: string } {
  const { from = "", to = "", since = "" } = query;
  if (from !== "") {
    const [begin, end] = [readInstant(from), readInstant(to)];
    if (begin !== undefined && end !== undefined && begin < end) return { from: begin, to: end };
    return parseRange(from, to, now, readZone(query["zone"]));
  }
  if (to !== "") return { problem: `“to=${to}” has no “from” beside it` };
  if (since === "") return DEFAULT_RANGE;
  return sinceNano(since) === undefined ? { problem: `“since=${since}” is no time; write 15m, 6h or 7d` } : { since };
}

/** The words of the query that say it; undefined takes a word out. */
export function rangeWords(range: Range): { since?: string; from?: string; to?: string } {
  if (isBetween(range)) return { from: writeInstant(range.from), to: writeInstant(range.to) };
  return range.since === "1h" ? {} : { since: range.since };
}

/** The same for the server. */
export function rangeParams(range: Range): Readonly<Record<string, string>> {
  return isBetween(range) ? sentBetween(range) : { since: range.since };
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
  const exact = Number(to - from) < 180e9 && digitsFor(from, to);
  const [begin, end] = [formatInstant(from, 0, zone), formatInstant(to, 0, zone)];
  const sameDay = begin.slice(0, 10) === end.slice(0, 10);
  return `${begin.slice(0, 10)} ${clock(from, exact, zone)} – ${sameDay ? "" : `${end.slice(0, 10)} `}${clock(to, exact, zone)}`;
}

// As many as tell the two ends apart.
function digitsFor(from: UnixNano, to: UnixNano): number {
  const length = to - from;
  return length >= 1_000_000_000n ? 3 : length >= 1_000_000n ? 6 : 9;
}

/** `digits` behind the point where the instant has any there; false: not even seconds, where it has none. */
function clock(at: UnixNano, digits: number | false, zone: Zone): string {
  if (digits !== false && at % 1_000_000_000n !== 0n) return formatInstant(at, digits, zone).slice(11);
  return formatClock(at, digits !== false || at % 60_000_000_000n !== 0n, zone);
}
