// What the explorer shows, as a value: read from the address's query, and written to it. What is by default is not written.
import { readZone, type UnixNano, type Zone } from "@/time/nano";
import { readInstant, sentBetween, writeInstant } from "@/time/rfc3339";
import { isBetween, rangeParams, rangeWords, readRange, type Between, type Range } from "@/time/range";
import { decodeConditions, encodeConditions } from "./conditions";

/** Spans that were started in [from, to) and lasted minNano to maxNano, both inclusive. */
export interface Selection {
  readonly from: UnixNano;
  readonly to: UnixNano;
  readonly minNano: number;
  readonly maxNano: number;
}

/** A range that was left for another one, and what was selected in it. */
export interface Outer {
  readonly range: Range;
  readonly durations?: Pick<Selection, "minNano" | "maxNano">;
  /** The selection's, where it is not the range that was zoomed into. */
  readonly times?: Between;
}

/** As the server has them. */
export const KEPT = ["", "any", "captured", "recorded"] as const;
export type Kept = (typeof KEPT)[number];

export interface Words {
  readonly range: Range;
  readonly service: string;
  readonly operation: string;
  /** KEY=VALUE each. */
  readonly where: readonly string[];
  readonly errors: boolean;
  readonly zone: Zone;
  readonly follow: boolean;
  readonly selection?: Selection;
  /** The list has only requests of which more than spans was kept: a capture, a snapshot; "": all. */
  readonly kept: Kept;
  /** The list leaves out requests that a recording's single steps made slow. */
  readonly unstepped: boolean;
  /** The attribute whose values are shown over time; "": none. */
  readonly spread: string;
  /** "p99_nano", or "-p99_nano" for the smallest first. */
  readonly sort: string;
  /** The ranges that were zoomed into, the outermost first. */
  readonly outer: readonly Outer[];
}

export const DEFAULT_SPREAD = "service.version";
export const DEFAULT_SORT = "rate";
type Query = Readonly<Record<string, string | undefined>>;

export function readWords(query: Query): Words {
  const range = readRange(query);
  const selection = readSelection(query);
  return {
    range,
    service: query["service"] ?? "",
    operation: query["operation"] ?? "",
    where: decodeConditions(query["where"] ?? ""),
    errors: query["errors"] === "true",
    zone: readZone(query["zone"]),
    follow: query["follow"] === "true" && !isBetween(range),
    ...(selection && { selection }),
    kept: KEPT.find((word) => word === query["kept"]) ?? "",
    unstepped: query["stepped"] === "hide",
    spread: readSpread(query["spread"]),
    sort: query["sort"] ?? DEFAULT_SORT,
    outer: (query["outer"] ?? "").split(" ").filter(Boolean).map(readOuter),
  };
}

// "none" is no attribute; one that is called so stands in quotes, as in conditions.
function readSpread(text = DEFAULT_SPREAD): string {
  if (text === "none") return "";
  return /^".*"$/.test(text) ? text.slice(1, -1) : text;
}

function writeSpread(spread: string): string {
  if (spread === "") return "none";
  return spread === "none" || /^".*"$/.test(spread) ? `"${spread}"` : spread;
}

function readSelection(query: Query): Selection | undefined {
  const [from, to] = [readInstant(query["sel_from"]), readInstant(query["sel_to"])];
  const [minNano, maxNano] = [Number(query["sel_min"] ?? NaN), Number(query["sel_max"] ?? NaN)];
  const whole = Number.isSafeInteger(minNano) && Number.isSafeInteger(maxNano);
  if (from === undefined || to === undefined || !whole || from >= to || minNano > maxNano) return undefined;
  return { from, to, minNano, maxNano };
}

// "24h", "FROM/TO", either with "~MIN-MAX" behind it, and that with "~FROM/TO".
function readOuter(text: string): Outer {
  const [written = "", said = "", selected = ""] = text.split("~");
  const [from, to] = written.split("/");
  const range = readRange(to === undefined ? { since: from } : { from, to });
  const [, min, max] = /^(\d{1,16})-(\d{1,16})$/.exec(said) ?? [];
  if (min === undefined) return { range };
  const times = readTimes(selected);
  return { range, durations: { minNano: Number(min), maxNano: Number(max) }, ...(times && { times }) };
}

function readTimes(text: string): Between | undefined {
  const [from, to] = text.split("/").map((instant) => readInstant(instant));
  return from !== undefined && to !== undefined && from < to ? { from, to } : undefined;
}

function writeOuter({ range, durations, times }: Outer): string {
  const text = isBetween(range) ? writeTimes(range) : range.since;
  if (!durations) return text;
  return `${text}~${durations.minNano}-${durations.maxNano}${times ? `~${writeTimes(times)}` : ""}`;
}

function writeTimes({ from, to }: Between): string {
  return `${writeInstant(from)}/${writeInstant(to)}`;
}

export function writeWords(words: Words): Record<string, string> {
  const { selection, spread, sort } = words;
  const texts: Record<string, string> = {
    ...rangeWords(words.range),
    service: words.service,
    operation: words.operation,
    where: encodeConditions(words.where),
    errors: words.errors ? "true" : "",
    zone: words.zone === "utc" ? "utc" : "",
    follow: words.follow ? "true" : "",
    ...(selection && selectionWords(selection)),
    kept: words.kept,
    stepped: words.unstepped ? "hide" : "",
    spread: spread === DEFAULT_SPREAD ? "" : writeSpread(spread),
    sort: sort === DEFAULT_SORT ? "" : sort,
    outer: words.outer.map(writeOuter).join(" "),
  };
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ""));
}

function selectionWords({ from, to, minNano, maxNano }: Selection): Record<string, string> {
  return {
    sel_from: writeInstant(from),
    sel_to: writeInstant(to),
    sel_min: String(minNano),
    sel_max: String(maxNano),
  };
}

/** Which spans are looked at, for the server: the conditions without the range. */
export function filterParams({ service, operation, where, errors }: Words) {
  return { service, operation, where, errors };
}

export function viewParams(words: Words) {
  return { ...rangeParams(words.range), ...filterParams(words) };
}

export function selectionParams({ from, to, minNano, maxNano }: Selection) {
  return {
    ...sentBetween({ from, to }),
    min_duration: `${minNano}ns`,
    // What a number does not hold exactly is no bound.
    max_duration: maxNano < Number.MAX_SAFE_INTEGER ? `${maxNano}ns` : undefined,
  };
}

/** Another range; a selection outside of it would be out of sight, so it goes. */
export function withRange(words: Words, range: Range, outer: readonly Outer[] = []): Words {
  const { selection: _, ...rest } = words;
  return { ...rest, range, outer, follow: words.follow && !isBetween(range) };
}

/** The range becomes the selection's; undone by zoomedOut(). */
export function zoomedIn(words: Words): Words {
  if (!words.selection) return words;
  const { from, to, minNano, maxNano } = words.selection;
  return withRange(words, { from, to }, [...words.outer, { range: words.range, durations: { minNano, maxNano } }]);
}

/** The range before, with what was selected in it then. */
export function zoomedOut(words: Words): Words {
  const before = words.outer[words.outer.length - 1];
  if (!before) return words;
  const out = withRange(words, before.range, words.outer.slice(0, -1));
  const times = before.times ?? (isBetween(words.range) ? words.range : undefined);
  return before.durations && times ? { ...out, selection: { ...times, ...before.durations } } : out;
}
