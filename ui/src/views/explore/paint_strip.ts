import { themeColor } from "@/draw/canvas";
import type { Zone } from "@/time/nano";
import type { Heat } from "./heat";
import { columnEdges, smallText } from "./paint_heatmap";
import { timeTicks } from "./scales";
import type { Strip } from "./spread";

type Context = CanvasRenderingContext2D;

/** Bars by column, the slow part below, between the heatmap's own lines of time. */
export function paintStrip(
  context: Context,
  width: number,
  height: number,
  strip: Strip,
  heat: Heat,
  zone: Zone,
): void {
  const columns = strip.counts.length;
  const most = Math.max(...strip.counts, 1);
  const edges = columnEdges(columns, { left: 0, width });
  context.fillStyle = themeColor("line");
  const ticks = timeTicks(
    heat.start,
    heat.stepNano,
    heat.columns,
    Math.max(2, Math.floor(width / (6.5 * smallText()))),
    zone,
  );
  for (const tick of ticks) context.fillRect(Math.round((width * tick.at) / heat.columns), 0, 1, height);
  context.fillRect(0, height - 1, width, 1);
  const [other, slow] = [themeColor("heat-1"), themeColor("selected")];
  for (let column = 0; column < columns; ++column) {
    const count = strip.counts[column] ?? 0;
    if (count === 0) continue;
    const x = edges[column] ?? 0;
    const across = Math.max((edges[column + 1] ?? x) - x - 1, 1);
    const high = Math.max(2, (count / most) * (height - 1));
    const slowHigh = strip.slow[column] ? Math.max(2, ((strip.slow[column] ?? 0) / count) * high) : 0;
    context.fillStyle = other;
    context.fillRect(x, height - 1 - high, across, high - slowHigh);
    context.fillStyle = slow;
    context.fillRect(x, height - 1 - slowHigh, across, slowHigh);
  }
}
