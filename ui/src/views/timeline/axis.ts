// The time axis, and above it the whole of the timeline in small with what is in sight of it.
import type { Painter } from "@/draw/canvas";
import type { Model } from "./model";
import { paletteOf } from "./palette";
import { PIXELS_PER_TICK } from "./scene";
import { tickLabel, ticksOf } from "@/draw/ticks";
import type { Pen } from "./tracks/track";
import { endOf, pixelOf, type Viewport } from "@/draw/viewport";

export const OVERVIEW_HEIGHT = 22;
export const AXIS_HEIGHT = 46;

export function axisPainter(model: Model, view: Viewport): Painter {
  return (context, width) => {
    const palette = paletteOf(context);
    drawOverview({ context, view: model.bounds, width, palette }, model, view);
    drawTicks({ context, view, width, palette });
    drawFlags({ context, view, width, palette }, model);
  };
}

function drawTicks({ context, view, width, palette }: Pen): void {
  const { step, at } = ticksOf(view.begin, view.duration, width / PIXELS_PER_TICK);
  const largest = Math.max(Math.abs(view.begin), Math.abs(endOf(view)));
  context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "alphabetic";
  for (const tick of at) {
    const left = Math.round(pixelOf(view, width, tick));
    context.fillStyle = palette.color.line;
    context.fillRect(left, AXIS_HEIGHT - 6, 1, 6);
    context.fillStyle = palette.color.faint;
    context.fillText(tickLabel(tick, step, largest), left + 3, AXIS_HEIGHT - 8);
  }
}

// Bars: where there are captures; spans of the first rows as lines of their services would be too many colours.
function drawOverview(pen: Pen, model: Model, view: Viewport): void {
  const { context, palette, width } = pen;
  context.fillStyle = palette.color.panel;
  context.fillRect(0, 0, width, OVERVIEW_HEIGHT);
  const band = (OVERVIEW_HEIGHT - 4) / Math.max(1, model.processes.length);
  model.processes.forEach((process, at) => {
    const top = 2 + at * band;
    process.captures?.rows.forEach((row) => {
      for (let item = 0; item < row.length; ++item) bar(pen, row.beginOf(item), row.endOf(item), top, band, "line");
    });
    const spans = process.lanes.flatMap((lane) => lane.tracks.filter(({ kind }) => kind === "spans"));
    for (const track of spans) {
      const row = track.rows[0];
      row?.forEachRun(pen.view, width, (run) => {
        bar(pen, row.beginOf(run.first), row.endOf(run.last - 1), top + band * 0.25, band * 0.5, "accent");
      });
    }
  });
  drawInSight(pen, view);
}

function bar(pen: Pen, begin: number, end: number, top: number, height: number, color: "line" | "accent"): void {
  const left = pixelOf(pen.view, pen.width, begin);
  const right = Math.max(left + 1, pixelOf(pen.view, pen.width, end));
  pen.context.fillStyle = pen.palette.color[color];
  pen.context.fillRect(left, top, right - left, Math.max(1, height - 1));
}

function drawInSight({ context, view, width, palette }: Pen, seen: Viewport): void {
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

function drawFlags({ context, view, width, palette }: Pen, model: Model): void {
  context.fillStyle = palette.color.selected;
  for (const { at } of model.triggers) {
    if (at < view.begin || at > endOf(view)) continue;
    const left = pixelOf(view, width, at);
    context.beginPath();
    context.moveTo(left, AXIS_HEIGHT);
    context.lineTo(left - 5, AXIS_HEIGHT - 9);
    context.lineTo(left + 5, AXIS_HEIGHT - 9);
    context.fill();
  }
}
