// Both sides of a comparison, in figures: how many there are, and how many of them were looked at.
import type { DifferenceSide, DifferencesAnswer } from "@/api/generated/answers";
import { formatCount } from "@/parts/figures";

type Sides = Pick<DifferencesAnswer, "selected" | "rest">;

/** The others are what the heatmap counted beside the selection, where the server only estimates them. */
export function countedSides({ selected, rest }: Sides, shown: number | undefined): Sides {
  if (!rest.estimated || shown === undefined) return { selected, rest };
  const spans = shown - selected.spans;
  // Spans may have come since.
  return spans < rest.looked_at
    ? { selected, rest }
    : { selected, rest: { ...rest, spans, estimated: selected.estimated } };
}

/** "321 of 418": as many were looked at. */
export function sideText({ spans, looked_at, estimated }: DifferenceSide): string {
  const all = `${estimated ? "about " : ""}${formatCount(spans)}`;
  return looked_at < spans ? `${formatCount(looked_at)} of ${all}` : all;
}
