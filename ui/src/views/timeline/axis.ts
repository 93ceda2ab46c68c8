// The time axis, and above it the whole of the timeline in small with what is in sight of it.
import type { Painter } from "@/draw/canvas";
import type { Model } from "./model";
import { paletteOf } from "./palette";
import { AXIS_HEIGHT, drawInSight, drawTicks, OVERVIEW_HEIGHT } from "@/draw/axis";
import type { Pen } from "./tracks/track";
import { endOf, pixelOf, type Viewport } from "@/draw/viewport";

export function axisPainter(model: Model, view: Viewport): Painter {
  return (context, width) => {
    const palette = paletteOf(context);
    drawOverview({ context, view: model.bounds, width, palette }, model, view);
    drawTicks({ context, view, width, palette });
    drawFlags({ context, view, width, palette }, model);
  };
}

// Bars: where there are captures; the first rows of what one finds one's way by, as lines of their services would be too many colours.
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
    const main = process.lanes.flatMap((lane) => lane.tracks.filter(({ isMain }) => isMain));
    for (const track of main) {
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
