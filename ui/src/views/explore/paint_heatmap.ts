// Paints a heatmap: cells by the logarithm of their count, redder by their share of errors, the lane of errors, the axes.
import { themeColor } from "@/draw/canvas";
import type { Zone } from "@/time/nano";
import { redness, warmth, type Box, type Heat } from "./heat";
import { plotOf, rectangleOf, type Plot } from "./plot";
import { durationTicks, timeTicks, type Tick } from "./scales";

type Context = CanvasRenderingContext2D;

/** The size of canvases' text, which follows the reader's. */
export function smallText(): number {
  return 0.86 * parseFloat(getComputedStyle(document.documentElement).fontSize);
}

export function setFont(context: Context, em: number): void {
  context.font = `${em}px ${getComputedStyle(document.body).fontFamily}`;
}

// One span is not to vanish on its ground: the ramp begins a step above it.
const FAINTEST = 0.22;
const SHADES = 64;

/** Colours from the faintest to the warmest. */
export function heatRamp(): number[][] {
  const stops = ["heat-0", "heat-1", "heat-2", "heat-3"].map((name) => channels(themeColor(name)));
  return Array.from({ length: SHADES }, (_, shade) => {
    const place = (FAINTEST + (1 - FAINTEST) * (shade / (SHADES - 1))) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return mixed(stops[low] ?? [], stops[low + 1] ?? [], place - low);
  });
}

function channels(hex: string): number[] {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function mixed(one: readonly number[], other: readonly number[], share: number): number[] {
  return one.map((value, at) => Math.round(value + ((other[at] ?? value) - value) * share));
}

function css(color: readonly number[]): string {
  return `rgb(${color.join(" ")})`;
}

export function paintHeatmap(context: Context, width: number, height: number, heat: Heat, zone: Zone): void {
  const em = smallText();
  const plot = plotOf(width, height, em);
  setFont(context, em);
  paintAxes(context, heat, plot, em, zone);
  paintCells(context, heat, plot);
  paintErrorLane(context, heat, plot);
}

function paintCells(context: Context, heat: Heat, plot: Plot): void {
  const ramp = heatRamp();
  const bad = channels(themeColor("bad"));
  const edges = columnEdges(heat.columns, plot);
  const rowEdges = Array.from({ length: heat.rows + 1 }, (_, row) =>
    Math.round(plot.top + plot.height * (1 - row / heat.rows)),
  );
  for (let column = 0; column < heat.columns; ++column) {
    const x = edges[column] ?? 0;
    const across = gapped((edges[column + 1] ?? x) - x);
    for (let row = 0; row < heat.rows; ++row) {
      const count = heat.counts[column * heat.rows + row] ?? 0;
      if (count === 0) continue;
      const y = rowEdges[row + 1] ?? 0;
      const up = gapped((rowEdges[row] ?? y) - y);
      const errors = heat.errorsExact && !heat.onlyErrors ? (heat.errors[column * heat.rows + row] ?? 0) : 0;
      const red = redness(errors, count);
      const own = ramp[Math.round(warmth(count, heat.mostInCell) * (SHADES - 1))] ?? [];
      context.fillStyle = css(red > 0 ? mixed(own, bad, red) : own);
      context.fillRect(x, y, across, up);
    }
  }
}

/** Whole pixels, so that neighbours neither overlap nor leave a seam. */
export function columnEdges(columns: number, { left, width }: Pick<Plot, "left" | "width">): number[] {
  return Array.from({ length: columns + 1 }, (_, column) => Math.round(left + (column / columns) * width));
}

function gapped(size: number): number {
  return size > 4 ? size - 1 : Math.max(size, 1);
}

// The share of errors in each column, whatever its durations: high even where errors are quick.
function paintErrorLane(context: Context, heat: Heat, plot: Plot): void {
  const edges = columnEdges(heat.columns, plot);
  context.fillStyle = themeColor("panel");
  context.fillRect(plot.left, plot.laneTop, plot.width, plot.laneHeight);
  context.fillStyle = themeColor("bad");
  for (let column = 0; column < heat.columns; ++column) {
    const [count = 0, errors = 0] = [heat.columnCounts[column], heat.columnErrors[column]];
    if (errors <= 0 || count <= 0) continue;
    const high = Math.max(1.5, Math.sqrt(errors / count) * plot.laneHeight);
    const x = edges[column] ?? 0;
    context.fillRect(x, plot.laneTop + plot.laneHeight - high, gapped((edges[column + 1] ?? x) - x), high);
  }
}

function paintAxes(context: Context, heat: Heat, plot: Plot, em: number, zone: Zone): void {
  const apart = (heat.rows * 1.9 * em) / plot.height;
  // The lowest label is not to lie on that of the lane below.
  const low = (heat.rows * 0.6 * em) / plot.height;
  const durations = durationTicks(heat.bounds, apart).filter(({ at }) => at >= low);
  for (const tick of durations) paintDurationTick(context, heat, plot, tick, em);
  const most = Math.max(2, Math.floor(plot.width / (6.5 * em)));
  const ticks = timeTicks(heat.start, heat.stepNano, heat.columns, most, zone);
  for (const tick of ticks) paintTimeTick(context, heat, plot, tick, em);
  context.fillStyle = themeColor("faint");
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText("errors", plot.left - 0.5 * em, plot.laneTop + plot.laneHeight / 2);
}

function paintDurationTick(context: Context, heat: Heat, plot: Plot, tick: Tick, em: number): void {
  const y = Math.round(plot.top + plot.height * (1 - tick.at / heat.rows)) + 0.5;
  context.fillStyle = themeColor("line");
  context.fillRect(plot.left, y - 0.5, plot.width, 1);
  context.fillStyle = themeColor(tick.major ? "text" : "faint");
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(tick.label, plot.left - 0.5 * em, y);
}

function paintTimeTick(context: Context, heat: Heat, plot: Plot, tick: Tick, em: number): void {
  const x = Math.round(plot.left + (plot.width * tick.at) / heat.columns);
  const below = plot.laneTop + plot.laneHeight;
  context.fillStyle = themeColor("line");
  context.fillRect(x, plot.top, 1, below - plot.top + 4);
  context.fillStyle = themeColor(tick.major ? "text" : "faint");
  const half = context.measureText(tick.label).width / 2;
  context.textAlign = x - half < plot.left ? "left" : x + half > plot.left + plot.width + 0.8 * em ? "right" : "center";
  context.textBaseline = "top";
  context.fillText(tick.label, x, below + 5);
}

/** What is above the cells: the selection, what is being drawn, the cursor. */
export function paintMarks(
  context: Context,
  size: readonly [number, number],
  heat: Heat,
  marks: { readonly selected?: Box | undefined; readonly draft?: Box | undefined; readonly hovered?: Box | undefined },
): void {
  const plot = plotOf(size[0], size[1], smallText());
  const { selected, draft, hovered } = marks;
  const shown = draft ?? selected;
  if (shown) paintShade(context, heat, plot, shown);
  if (selected) outline(context, heat, plot, selected, themeColor("selected"), []);
  if (draft) outline(context, heat, plot, draft, themeColor("selected"), [4, 3]);
  if (hovered) outline(context, heat, plot, hovered, themeColor("text"), []);
}

// What is not selected steps back.
function paintShade(context: Context, heat: Heat, plot: Plot, box: Box): void {
  const inner = rectangleOf(heat, plot, box);
  context.globalAlpha = 0.45;
  context.fillStyle = themeColor("ground");
  context.beginPath();
  context.rect(plot.left, plot.top, plot.width, plot.height);
  context.rect(inner.x, inner.y, inner.width, inner.height);
  context.fill("evenodd");
  context.globalAlpha = 1;
}

function outline(context: Context, heat: Heat, plot: Plot, box: Box, color: string, dash: number[]): void {
  const { x, y, width, height } = rectangleOf(heat, plot, box);
  context.strokeStyle = color;
  context.lineWidth = 2;
  context.setLineDash(dash);
  context.strokeRect(Math.round(x) - 1, Math.round(y) - 1, Math.round(width) + 1, Math.round(height) + 1);
  context.setLineDash([]);
}
