// The first picture of a page whose address says no time: as little of the last hour as has all of its spans, so that what
// was begun a minute ago is no sliver at the edge.
import { isBetween, type Range } from "@/time/range";
import { sinceNano } from "@/time/since";
import type { UnixNano } from "@/time/nano";
import type { Heat } from "./heat";

const SHORTER: readonly string[] = ["5m", "15m"];

/** Undefined: the range is right as it is. */
export function fittingRange(range: Range, heat: Heat, now: UnixNano): Range | undefined {
  const first = heat.columnCounts.findIndex((count) => count > 0);
  if (isBetween(range) || first < 0) return undefined;
  const age = now - (heat.start + BigInt(Math.round(first * heat.stepNano)));
  const since = SHORTER.find((shorter) => age <= (sinceNano(shorter) ?? 0n));
  return since === undefined || since === range.since ? undefined : { since };
}

/** Whether an address says which time it is of. */
export function saysTime(query: Readonly<Record<string, string | undefined>>): boolean {
  return ["since", "from", "to"].some((word) => query[word] !== undefined);
}
