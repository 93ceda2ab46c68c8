// A time axis: above it the whole in small, with what is in sight of it; below it ticks.
import type { Palette } from "./palette";
import { tickLabel, ticksOf } from "./ticks";
import { endOf, pixelOf, type Viewport } from "./viewport";

export const OVERVIEW_HEIGHT = 22;
export const AXIS_HEIGHT = 46;
export const PIXELS_PER_TICK = 130;

interface AxisPen {
  readonly context: CanvasRenderingContext2D;
  readonly view: Viewport;
  readonly width: number;
  readonly palette: Pick<Palette, "color">;
}

/** Says an offset; `step` is how far ticks are apart, `largest` what the view has. */
export type TickLabel = (offset: number, step: number, largest: number) => string;

export function drawTicks({ context, view, width, palette }: AxisPen, label: TickLabel = tickLabel): void {
  const { step, at } = ticksOf(view.begin, view.duration, width / PIXELS_PER_TICK);
  const largest = Math.max(Math.abs(view.begin), Math.abs(endOf(view)));
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "alphabetic";
  let free = -Infinity;
  for (const tick of at) {
    const left = Math.round(pixelOf(view, width, tick));
    context.fillStyle = palette.color.line;
    context.fillRect(left, AXIS_HEIGHT - 6, 1, 6);
    context.fillStyle = palette.color.faint;
    const text = label(tick, step, largest);
    const long = context.measureText(text).width;
    const begin = labelLeft(left, long, width);
    // The last one's may have no room between its tick and the label before.
    if (begin > free) context.fillText(text, begin, AXIS_HEIGHT - 8);
    free = begin + long + 3;
  }
}

/** Where a tick's label begins: behind the tick, and before it where it would be cut off at the right edge. */
export function labelLeft(tick: number, labelWidth: number, width: number): number {
  return tick + 3 + labelWidth <= width ? tick + 3 : Math.max(0, tick - 3 - labelWidth);
}

/** `height` of the picture that the ticks' lines cross, from `top` on. */
export function drawGrid({ context, view, width, palette }: AxisPen, top: number, height: number): void {
  context.globalAlpha = 0.55;
  context.fillStyle = palette.color.line;
  for (const tick of ticksOf(view.begin, view.duration, width / PIXELS_PER_TICK).at) {
    context.fillRect(Math.round(pixelOf(view, width, tick)), top, 1, height);
  }
  context.globalAlpha = 1;
}

/** On the overview, which `view` has all of: what lies beside `seen` is dimmed. */
export function drawInSight({ context, view, width, palette }: AxisPen, seen: Viewport): void {
  const left = Math.max(0, pixelOf(view, width, seen.begin));
  const right = Math.min(width, Math.max(left + 3, pixelOf(view, width, endOf(seen))));
  context.globalAlpha = 0.65;
  context.fillStyle = palette.color.ground;
  context.fillRect(0, 0, left, OVERVIEW_HEIGHT);
  context.fillRect(right, 0, width - right, OVERVIEW_HEIGHT);
  context.globalAlpha = 1;
  context.strokeStyle = palette.color.accent;
  context.lineWidth = 1.5;
  context.strokeRect(left + 0.75, 0.75, Math.max(1.5, right - left - 1.5), OVERVIEW_HEIGHT - 1.5);
}
