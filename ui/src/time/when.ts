// Instants as people and programs write them: "yesterday 14:00", "2pm yesterday", "14:15", "2026-11-21 14", "now-2h",
// "2026-11-21 14:00:00Z", "2026-11-21T14:00+02:00", seconds or milliseconds since 1970.
import { formatInstant, NANOS_PER_SECOND, type UnixNano, type Zone } from "./nano";
import { readInstant } from "./rfc3339";
import type { Between, Range } from "./range";
import { sinceNano } from "./since";

const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const CLOCK = /^(\d{1,2})(?:h|:(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(am|pm)?$/;

interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** Undefined: this says no instant. A day alone is its midnight; a time alone is of today. */
export function parseWhen(text: string, now: UnixNano, zone: Zone): UnixNano | undefined {
  const words = cleaned(text);
  if (/^now\b/.test(words)) return fromNow(words, now);
  const exact = readInstant(text.trim().toUpperCase()) ?? sinceEpoch(words) ?? elsewhere(words, now);
  if (exact !== undefined) return exact;
  const [first = "", second, ...more] = words.split(/ |(?<=\d)t(?=\d)/);
  if (more.length > 0) return undefined;
  if (second === undefined) return dayAt(first, "0", now, zone) ?? at(today(now, zone), first, zone);
  return dayAt(first, second, now, zone) ?? dayAt(second, first, now, zone);
}

function dayAt(word: string, time: string, now: UnixNano, zone: Zone): UnixNano | undefined {
  const day = dayOf(word, now, zone);
  return day && at(day, time, zone);
}

/** Seconds since 1970, with a fraction; whole numbers are read before. */
function sinceEpoch(words: string): UnixNano | undefined {
  const [, seconds, fraction = ""] = /^(\d{10})(?:\.(\d{1,9}))?$/.exec(words) ?? [];
  if (seconds) return BigInt(seconds) * NANOS_PER_SECOND + BigInt(fraction.padEnd(9, "0"));
  return undefined;
}

/** With a zone of its own behind it: "14:00 utc", "2026-11-21 14:00:00Z"; hours and minutes only behind a date. */
function elsewhere(words: string, now: UnixNano): UnixNano | undefined {
  const [, rest, sign, hours = "0", minutes = "0"] =
    /^(.*:\d\d(?:\.\d+)?) ?(?:z|utc|(?<=\d-\d\d[ t].*)([-+])(\d\d):?(\d\d)?)$/.exec(words) ?? [];
  if (rest === undefined) return undefined;
  const shift = (BigInt(hours) * 60n + BigInt(minutes)) * 60n * NANOS_PER_SECOND;
  const there = parseWhen(rest, now, "utc");
  return there === undefined ? undefined : sign === "-" ? there + shift : there - shift;
}

/** As it may be typed again: "2026-11-21 14:00", with seconds and fractions only where they say something. */
export function writeWhen(at: UnixNano, zone: Zone): string {
  const text = formatInstant(at, 9, zone).replace(/\.?0+$/, (zeros) => (zeros.startsWith(".") ? "" : zeros));
  return text.replace(/(\.\d*?[1-9])0+$/, "$1").replace(/^(\S+ \d\d:\d\d):00$/, "$1");
}

function cleaned(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/\s+/g, " ")
    .replace(/(?<=\d) (h|am|pm)\b/, "$1");
}

function fromNow(words: string, now: UnixNano): UnixNano | undefined {
  if (words === "now") return now;
  const [, sign, distance = ""] = /^now ?([-+]) ?(.+)$/.exec(words) ?? [];
  const nano = sinceNano(distance);
  if (nano === undefined) return undefined;
  return sign === "-" ? now - nano : now + nano;
}

function today(now: UnixNano, zone: Zone): Day {
  const when = new Date(Number(now / 1_000_000n));
  return zone === "utc"
    ? { year: when.getUTCFullYear(), month: when.getUTCMonth(), day: when.getUTCDate() }
    : { year: when.getFullYear(), month: when.getMonth(), day: when.getDate() };
}

function dayOf(word: string, now: UnixNano, zone: Zone): Day | undefined {
  const current = today(now, zone);
  if (word === "today") return current;
  if (word === "yesterday") return { ...current, day: current.day - 1 };
  const weekday = word.length >= 3 ? WEEKDAYS.findIndex((name) => name.startsWith(word)) : -1;
  if (weekday >= 0) return { ...current, day: current.day - daysSince(weekday, current) };
  const [, year, month, day] = /^(?:(\d{4})-)?(\d\d)-(\d\d)$/.exec(word) ?? [];
  if (!month || !day) return undefined;
  const said = { year: year ? Number(year) : current.year, month: Number(month) - 1, day: Number(day) };
  return exists(said) ? said : undefined;
}

// The 31st of April would be the first of May.
function exists({ year, month, day }: Day): boolean {
  const when = new Date(Date.UTC(year, month, day));
  return when.getUTCMonth() === month && when.getUTCDate() === day;
}

// The last such day before today.
function daysSince(weekday: number, { year, month, day }: Day): number {
  const current = new Date(Date.UTC(year, month, day)).getUTCDay();
  return (current - weekday + 7) % 7 || 7;
}

function at({ year, month, day }: Day, time: string, zone: Zone): UnixNano | undefined {
  const [, said, minute = "0", second = "0", fraction = "", half] = CLOCK.exec(time) ?? [];
  const hour = said === undefined ? undefined : hourOf(Number(said), half);
  if (hour === undefined || Number(minute) > 59 || Number(second) > 59) return undefined;
  const parts = [year, month, day, hour, Number(minute), Number(second)] as const;
  const milliseconds = zone === "utc" ? Date.UTC(...parts) : new Date(...parts).getTime();
  return BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

// "12am" is midnight, "12pm" noon.
function hourOf(said: number, half: string | undefined): number | undefined {
  if (half === undefined) return said <= 24 ? said : undefined;
  return said < 1 || said > 12 ? undefined : (said % 12) + (half === "pm" ? 12 : 0);
}

/**
 * What two fields say together, or what is wrong with them. A second time without a day is of the first one's day. `kept`:
 * the instants of fields that nobody changed; their texts say less, as where a clock that is set back shows an hour twice.
 */
export function parseRange(
  from: string,
  to: string,
  now: UnixNano,
  zone: Zone,
  kept: Partial<Between> = {},
): Range | { readonly problem: string } {
  const [, day, begin, end] = /^(\S+) (\d{1,2}(?::\d\d)?) ?h? ?[-–] ?(\d{1,2}(?::\d\d)?) ?h?$/.exec(from.trim()) ?? [];
  if (day && begin && end) return parseRange(`${day} ${begin}`, `${day} ${end}`, now, zone);
  const since = /^now ?- ?(\S+)$/.exec(from.trim())?.[1];
  if (since && sinceNano(since) !== undefined && /^(now)?$/.test(to.trim())) return { since };
  const first = kept.from ?? parseWhen(from, now, zone);
  if (first === undefined) return { problem: `“${from}” is no time; ${EXAMPLES}` };
  const last = kept.to ?? (to.trim() === "" ? now : parseWhen(to, CLOCK.test(cleaned(to)) ? first : now, zone));
  if (last === undefined) return { problem: `“${to}” is no time; ${EXAMPLES}` };
  return first < last ? { from: first, to: last } : { problem: "The range ends before it begins." };
}

const EXAMPLES = "write yesterday 14:00, 14:15, 2026-11-21 14:00 or now-2h";
