// The picture: what is in sight of lanes, with the time axis' lines, triggers, and what is chosen.
import { drawGrid } from "@/draw/axis";
import type { Painter } from "@/draw/canvas";
import { PROCESS_HEAD, stripOf, within, type Layout, type ProcessBox } from "./layout";
import type { Model } from "./model";
import { paletteOf } from "./palette";
import { describe, findThreadAt, type Selection } from "./selection";
import type { Pen } from "./tracks/track";
import { endOf, pixelOf, type Viewport } from "@/draw/viewport";

export interface Scene {
  readonly model: Model;
  readonly layout: Layout;
  readonly view: Viewport;
  readonly scrollTop: number;
  readonly selection: Selection | undefined;
}

export function lanesPainter(scene: Scene): Painter {
  return (context, width, height) => {
    const pen: Pen = { context, view: scene.view, width, palette: paletteOf(context) };
    context.save();
    context.translate(0, -scene.scrollTop);
    drawGrounds(pen, scene, height);
    drawGrid(pen, scene.scrollTop, Math.min(height, scene.layout.height - scene.scrollTop));
    drawTracks(pen, scene, height);
    drawTriggers(pen, scene, height);
    if (scene.selection) drawSelection(pen, scene, scene.selection, height);
    context.restore();
  };
}

function drawGrounds(pen: Pen, { layout, scrollTop }: Scene, height: number): void {
  const { context, palette, width } = pen;
  for (const process of within(layout.processes, scrollTop, height)) {
    context.fillStyle = palette.color.panel;
    context.fillRect(0, process.top, width, headHeight(process));
  }
  context.fillStyle = palette.color.line;
  for (const box of [...within(layout.lanes, scrollTop, height), ...within(layout.processes, scrollTop, height)]) {
    context.fillRect(0, box.top + box.height - 1, width, 1);
  }
}

function headHeight({ lanes }: ProcessBox): number {
  return Math.max(PROCESS_HEAD, (lanes.captures?.height ?? 0) + 12);
}

function drawTracks(pen: Pen, { layout, scrollTop }: Scene, height: number): void {
  for (const strip of layout.strips) {
    if (strip.top + strip.track.height < scrollTop || strip.top > scrollTop + height) continue;
    strip.track.draw(pen, strip.top);
  }
}

function drawTriggers(pen: Pen, { layout, view, scrollTop }: Scene, height: number): void {
  const { context, palette, width } = pen;
  context.strokeStyle = palette.color.selected;
  context.setLineDash([3, 3]);
  context.lineWidth = 1;
  for (const process of within(layout.processes, scrollTop, height)) {
    for (const { at } of process.lanes.triggers) {
      if (at < view.begin || at > endOf(view)) continue;
      const left = Math.round(pixelOf(view, width, at)) + 0.5;
      line(context, left, process.top, left, process.top + process.height);
    }
  }
  context.setLineDash([]);
}

function line(context: CanvasRenderingContext2D, left: number, top: number, right: number, bottom: number): void {
  context.beginPath();
  context.moveTo(left, top);
  context.lineTo(right, bottom);
  context.stroke();
}

function drawSelection(pen: Pen, scene: Scene, selection: Selection, height: number): void {
  const { context, palette, view, width } = pen;
  const { begin, end } = describe(selection);
  const left = Math.max(-4, Math.round(pixelOf(view, width, begin)));
  const right = Math.min(width + 4, Math.max(left + 2, Math.round(pixelOf(view, width, end))));
  context.globalAlpha = 0.1;
  context.fillStyle = palette.color.accent;
  context.fillRect(left, scene.scrollTop, right - left, Math.min(height, scene.layout.height - scene.scrollTop));
  context.globalAlpha = 1;
  const { track } = selection.strip;
  const top = selection.strip.top + selection.row * track.rowHeight;
  context.strokeStyle = palette.color.text;
  context.lineWidth = 2;
  context.strokeRect(left - 0.5, top, right - left + 1, track.rowHeight - 0.5);
  drawWaker(pen, scene, selection, top + track.rowHeight / 2);
}

// From the lane of the thread that ended the wait to the wait's end.
function drawWaker(pen: Pen, { model, layout }: Scene, selection: Selection, to: number): void {
  const { waker, wokenAt } = describe(selection);
  if (waker?.tid === undefined || wokenAt === undefined) return;
  const found = findThreadAt(model, waker.pid ?? 0, waker.tid, wokenAt);
  const strip = found && stripOf(layout, found.processKey, found.laneKey, found.kind);
  if (!strip || strip === selection.strip) return;
  const { context, palette, view, width } = pen;
  const at = pixelOf(view, width, wokenAt);
  const from = strip.top + strip.track.height / 2;
  context.strokeStyle = context.fillStyle = palette.color.selected;
  context.lineWidth = 1.5;
  line(context, at, from, at, to);
  const ahead = to > from ? -6 : 6;
  context.beginPath();
  context.moveTo(at, to);
  context.lineTo(at - 4, to + ahead);
  context.lineTo(at + 4, to + ahead);
  context.fill();
  context.fillRect(at - 3, from - 3, 6, 6);
}
