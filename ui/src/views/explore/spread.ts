// Spread: how one value of an attribute lies over time, next to the heatmap of everything.
import type { UnixNano } from "@/time/nano";
import type { Difference } from "@/api/generated/answers";
import { formatCount } from "@/parts/figures";
import type { Heat } from "./heat";
import { canBeAsked } from "./attribute_path";
import { DEFAULT_SPREAD } from "./words";

export interface Strip {
  /** Spans by column. */
  readonly counts: readonly number[];
  /** Of these, the slow ones. */
  readonly slow: readonly number[];
  readonly spans: number;
  readonly slowSpans: number;
  /** Begin of the first column that has any, end of the last; undefined where none has. */
  readonly first?: UnixNano;
  readonly last?: UnixNano;
}

/** Slow is what lasted more than `slowAbove`: rows that only touch it do not count. */
export function stripOf(heat: Heat, slowAbove: number): Strip {
  const counts = [...heat.columnCounts];
  const slow = counts.map((_, column) => slowIn(heat, column, slowAbove));
  const first = counts.findIndex((count) => count > 0);
  const last = lastWithAny(counts);
  return {
    ...{ counts, slow, spans: sum(counts), slowSpans: sum(slow) },
    ...(first >= 0 && { first: instantAt(heat, first), last: instantAt(heat, last + 1) }),
  };
}

function slowIn({ counts, rows, bounds }: Heat, column: number, slowAbove: number): number {
  let slow = 0;
  for (let row = rows - 1; row >= 0 && (bounds[row] ?? 0) >= slowAbove; --row) slow += counts[column * rows + row] ?? 0;
  return slow;
}

function instantAt(heat: Heat, column: number): UnixNano {
  return heat.start + BigInt(column) * BigInt(heat.stepNano);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/**
 * The attribute to look at: what was chosen, but not the one that is shown by default where no span has it: then what the
 * selection differs in most, or nothing.
 */
export function spreadOver(
  chosen: string,
  keys: readonly string[] | undefined,
  differences: readonly Difference[],
): string {
  if (chosen !== DEFAULT_SPREAD || !keys || keys.includes(chosen)) return canBeAsked(chosen) ? chosen : "";
  return differences.find(({ key }) => canBeAsked(key) && keys.includes(key))?.key ?? "";
}

/** Values to look at, the most telling first: those of the differences, then the most frequent; each once. */
export function candidates(telling: readonly string[], frequent: readonly string[], most: number): string[] {
  return [...new Set([...telling, ...frequent])].slice(0, most);
}

function lastWithAny(counts: readonly number[]): number {
  let at = counts.length - 1;
  while (at >= 0 && !counts[at]) --at;
  return at;
}

interface Shown {
  readonly spread: string;
  readonly strips: readonly { readonly strip: Pick<Strip, "spans"> }[];
  /** Of the picture. */
  readonly spans: number;
  /** Not every value was looked at. */
  readonly some: boolean;
}

/** What of the picture is in no strip; undefined where nothing is missing. */
export function leftOutText({ spread, strips, spans, some }: Shown): string | undefined {
  const missing = spans - sum(strips.map(({ strip }) => strip.spans));
  if (strips.length === 0 || missing <= 0) return undefined;
  const of = `${formatCount(missing)} of ${formatCount(spans)} spans`;
  return some ? `${of} are of other values, or have no ${spread}.` : `${of} have no ${spread}.`;
}

/** By when they were first seen, as versions follow one another; of those that were there first, the slow ones. */
export function inOrder<T extends { readonly strip: Strip }>(all: readonly T[]): T[] {
  const first = ({ strip }: T): number => begin(strip);
  const share = ({ strip }: T): number => (strip.spans > 0 ? strip.slowSpans / strip.spans : 0);
  return [...all].sort((one, other) => first(one) - first(other) || share(other) - share(one));
}

// What comes within the first tenth was there before: that a rare value misses some columns is chance.
function begin({ counts }: Strip): number {
  const column = counts.findIndex((count) => count > 0);
  return column < counts.length / 10 ? 0 : column;
}

/** "first seen 14:11 · last seen 14:52", "not seen 14:11 – 14:52": only what lies within the picture. */
export function seenText(strip: Strip, heat: Heat, write: (at: UnixNano) => string): string {
  const { first, last } = strip;
  if (first === undefined || last === undefined) return "";
  // That the first few columns have none is chance.
  const early = Math.max(3, heat.columns / 20);
  const begun = first >= instantAt(heat, Math.ceil(early)) ? [`first seen ${write(first)}`] : [];
  const ended = last < instantAt(heat, heat.columns - 1) ? [`last seen ${write(last)}`] : [];
  const gap = longestGap(strip.counts);
  const away = gap && [`not seen ${write(instantAt(heat, gap.from))} – ${write(instantAt(heat, gap.to))}`];
  return [...begun, ...(away ?? []), ...ended].join(" · ") || "all the time";
}

// A tenth of the columns and more, between columns that have some: less is chance.
function longestGap(counts: readonly number[]): { from: number; to: number } | undefined {
  let longest = { from: 0, to: Math.max(2, counts.length / 10) };
  let [before, found] = [-1, false];
  counts.forEach((count, column) => {
    if (count === 0) return;
    if (before >= 0 && column - before - 1 >= longest.to - longest.from) {
      longest = { from: before + 1, to: column };
      found = true;
    }
    before = column;
  });
  return found ? longest : undefined;
}

interface Empty {
  readonly spread: string;
  readonly some: boolean;
  readonly failed: { readonly message: string } | undefined;
  readonly done: boolean;
}

/** What stands where no strip does: that no span has the attribute only once that is known. */
export function emptyText({ spread, some, failed, done }: Empty): string {
  if (failed) return `How ${spread} lies over time could not be asked: ${failed.message}`;
  if (!done) return `Asking for ${spread} …`;
  return some
    ? `None of the most frequent values of ${spread} is among the spans that are shown.`
    : `No span that is shown has ${spread}. Choose another attribute.`;
}
