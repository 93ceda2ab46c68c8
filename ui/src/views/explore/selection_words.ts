// What is selected, said in a line; and what is looked at where nothing is.
import type { UnixNano } from "@/time/nano";
import { lengthNano, type Between } from "@/time/range";
import { sentBetween } from "@/time/rfc3339";
import { durationsText, timesText } from "./describe";
import { tally, type Heat } from "./heat";
import { boxOf } from "./selection";
import type { Selection, Words } from "./words";

/** From the heatmap's first to its last column. */
export function timesOf({ start, stepNano, columns }: Heat): Between {
  return { from: start, to: start + BigInt(stepNano) * BigInt(columns) };
}

/** The same, for the server. */
export function wholeOf(heat: Heat): { from: string; to: string } {
  return sentBetween(timesOf(heat));
}

export function selectionHead({ selection, zone }: Words, heat: Heat | undefined): string {
  if (!selection) return "of all that is shown";
  return `${timesText(selection, precision(selection, heat?.stepNano ?? 1e9), zone)}, ${durationsText(selection)}`;
}

// Seconds that are none are left out.
function precision({ from, to }: Selection, stepNano: number): number {
  return from % MINUTE === 0n && to % MINUTE === 0n ? Math.max(stepNano, Number(MINUTE)) : stepNano;
}

const MINUTE = 60_000_000_000n;

/** Whether a selection can be seen: it may be of another time, or nothing of what is shown now may lie in it. */
export type Held = "something" | "nothing" | "elsewhere";

/** `selected`: how many spans the server found in it, where it did. */
export function heldBy(heat: Heat, selection: Selection, selected?: number): Held {
  const end = heat.start + BigInt(heat.stepNano) * BigInt(heat.columns);
  if (selection.to <= heat.start || selection.from >= end) return "elsewhere";
  const box = boxOf(heat, selection);
  return box && tally(heat, box).count > 0 && selected !== 0 ? "something" : "nothing";
}

/** A range with the selection in its middle, as long as the one that is shown, or thrice the selection. */
export function rangeAround({ from, to }: Selection, range: Words["range"], now: UnixNano): Between {
  const length = to - from;
  const shown = BigInt(Math.round(lengthNano(range)));
  const beside = shown > 3n * length ? (shown - length) / 2n : length;
  const end = to + beside > now && to < now ? now : to + beside;
  return { from: from - beside, to: end };
}
