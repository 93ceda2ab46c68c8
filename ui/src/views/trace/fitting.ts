// What of a trace's time is shown at first: all of it, unless that would squeeze the request into a corner, as one span
// with a wrong clock does; then the request's root.
import type { TraceModel } from "./model";
import { around, wholeWindow, type TimeWindow } from "./timeWindow";
import { nodeAt } from "./tree";

/** By how much all may be longer than the root. */
const MOST_TIMES = 5;

type Measured = Pick<TraceModel, "tree" | "path">;

export function firstWindow({ tree, path }: Measured): TimeWindow {
  const whole = wholeWindow(tree.durationNano);
  if (path.root === undefined) return whole;
  const { startNano, endNano } = nodeAt(tree, path.root);
  const length = endNano - startNano;
  if (length <= 0 || tree.durationNano <= MOST_TIMES * length) return whole;
  return around(startNano, endNano, tree.durationNano);
}

/** How many spans lie outside of it, or go on beyond it. */
export function outsideOf({ tree }: Measured, { fromNano, toNano }: TimeWindow): number {
  return tree.nodes.filter(({ startNano, endNano }) => startNano < fromNano || endNano > toNano).length;
}
