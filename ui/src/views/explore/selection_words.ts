// What is selected, said in a line; and what is looked at where nothing is.
import { durationsText, timesText } from "./describe";
import type { Heat } from "./heat";
import type { Words } from "./words";

/** From the heatmap's first to its last column. */
export function wholeOf({ start, stepNano, columns }: Heat): { from: string; to: string } {
  return { from: start.toString(), to: (start + BigInt(stepNano) * BigInt(columns)).toString() };
}

export function selectionHead({ selection, zone }: Words, heat: Heat | undefined): string {
  if (!selection) return "of all that is shown";
  return `${timesText(selection, heat?.stepNano ?? 1e9, zone)}, ${durationsText(selection)}`;
}
