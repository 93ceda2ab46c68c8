// The same durations at another time: whoever has selected slow spans asks since when there are such.
import type { UnixNano } from "@/time/nano";
import { between, type Between, type Range } from "@/time/range";
import { withRange, type Selection, type Words } from "./words";

const HALF_DAY = 43_200_000_000_000n;

/**
 * The day around the selection, and its durations in all of that; undone by zoomedOut(). Undefined where nothing is
 * selected, or what is selected lasts about as long already.
 */
export function dayAround(words: Words, now: UnixNano): Words | undefined {
  const { selection, range } = words;
  if (!selection || selection.to - selection.from >= HALF_DAY) return undefined;
  const { from, to, minNano, maxNano } = selection;
  const middle = (from + to) / 2n;
  const last = to > now ? to : now;
  const day = { from: middle - HALF_DAY, to: earlier(middle + HALF_DAY, last) };
  const before = { range, durations: { minNano, maxNano }, times: { from, to } };
  return { ...withRange(words, day, [...words.outer, before]), selection: { ...day, minNano, maxNano } };
}

function earlier(one: UnixNano, other: UnixNano): UnixNano {
  return one < other ? one : other;
}

/**
 * A range that was chosen by hand: a part of the range before stays selected where the new one has it, otherwise its
 * durations are, all the time.
 */
export function withChosenRange(words: Words, range: Range, now: UnixNano): Words {
  const { selection } = words;
  const moved = withRange(words, range);
  if (!selection) return moved;
  const [before, after] = [between(words.range, now), between(range, now)];
  if (isWithin(selection, after) && !fills(selection, before)) return { ...moved, selection };
  return { ...moved, selection: { ...selection, ...after } };
}

function isWithin({ from, to }: Selection, within: Between): boolean {
  return from >= within.from && to <= within.to;
}

// Columns are round, and since it was selected time has gone on.
function fills({ from, to }: Selection, range: Between): boolean {
  const slack = (range.to - range.from) / 20n;
  return from <= range.from + slack && to >= range.to - slack;
}
