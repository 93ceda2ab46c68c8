// What the explorer shows, as a value: read from the address's query, and written to it. What is by default is not written.
import { readZone, type UnixNano, type Zone } from "@/time/nano";
import { readInstant, sentBetween, writeInstant } from "@/time/rfc3339";
import { isBetween, rangeParams, rangeWords, readRange, type Range } from "@/time/range";
import { decodeConditions, encodeConditions } from "./conditions";

/** Spans that were started in [from, to) and lasted minNano to maxNano, both inclusive. */
export interface Selection {
  readonly from: UnixNano;
  readonly to: UnixNano;
  readonly minNano: number;
  readonly maxNano: number;
}

/** A range that was zoomed out of sight, and which durations were selected in it. */
export interface Outer {
  readonly range: Range;
  readonly durations?: Pick<Selection, "minNano" | "maxNano">;
}

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
  /** The list has only requests of which more than spans was kept. */
  readonly kept: boolean;
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
    kept: query["kept"] === "any",
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

// "24h", "FROM/TO", either with "~MIN-MAX" behind it.
function readOuter(text: string): Outer {
  const [written = "", said = ""] = text.split("~");
  const [from, to] = written.split("/");
  const range = readRange(to === undefined ? { since: from } : { from, to });
  const [, min, max] = /^(\d{1,16})-(\d{1,16})$/.exec(said) ?? [];
  return min === undefined ? { range } : { range, durations: { minNano: Number(min), maxNano: Number(max) } };
}

function writeOuter({ range, durations }: Outer): string {
  const text = isBetween(range) ? `${writeInstant(range.from)}/${writeInstant(range.to)}` : range.since;
  return durations ? `${text}~${durations.minNano}-${durations.maxNano}` : text;
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
    kept: words.kept ? "any" : "",
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
  return before.durations && isBetween(words.range)
    ? { ...out, selection: { ...words.range, ...before.durations } }
    : out;
}
