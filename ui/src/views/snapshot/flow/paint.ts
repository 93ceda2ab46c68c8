// The picture of calls over time: bars by depth, gaps, the selected instant and call.
import { drawGrid, drawInSight, drawTicks, OVERVIEW_HEIGHT, type TickLabel } from "@/draw/axis";
import { Brush } from "@/draw/brush";
import type { Painter } from "@/draw/canvas";
import type { Palette } from "@/draw/palette";
import { endOf, pixelOf, type Viewport } from "@/draw/viewport";
import { alphaOf, colorOf, paletteOf } from "./palette";
import { breaksIn, drawnPieces, forEachBar, type DrawnPiece, type Scene } from "./scene";
import type { Bar } from "./tile";
import { BAND_DEPTHS, coarsest, tileKey } from "./tiles";

export const DEPTH_PIXELS = 18;
/** Above the calls: where something is missing, or was not recorded, however small. */
export const STRIP_PIXELS = 12;
const FONT = "11px system-ui, 'DejaVu Sans', sans-serif";
const LETTER = 6.3;
const LEAST_TEXT = 34;

/** What is shown over the calls; offsets. */
export interface Marks {
  /** The selected instant. */
  readonly at: number | undefined;
  readonly call: { readonly start: number; readonly end: number; readonly depth: number } | undefined;
  /** What of the list is in sight. */
  readonly listed: { readonly start: number; readonly end: number } | undefined;
}

interface Pen {
  readonly context: CanvasRenderingContext2D;
  readonly view: Viewport;
  readonly width: number;
  readonly height: number;
  readonly palette: Palette<"sleeping">;
}

export function chartPainter(scene: Omit<Scene, "width">, scrollTop: number, depths: number, marks: Marks): Painter {
  return (context, width, height) => {
    const pen: Pen = { context, view: scene.view, width, height, palette: paletteOf(context) };
    const sized = { ...scene, width };
    drawGrid(pen, STRIP_PIXELS, height - STRIP_PIXELS);
    drawBreaks(pen, sized);
    context.save();
    context.beginPath();
    context.rect(0, STRIP_PIXELS, width, height);
    context.clip();
    context.translate(0, STRIP_PIXELS - scrollTop);
    forEachDepth(sized, scrollTop, height, depths, (depth, pieces) => drawDepth(pen, pieces, depth));
    if (marks.call) drawCall(pen, marks.call);
    context.restore();
    drawMarks(pen, marks);
  };
}

function forEachDepth(
  scene: Scene,
  scrollTop: number,
  height: number,
  depths: number,
  visit: (depth: number, pieces: readonly DrawnPiece[]) => void,
): void {
  const { first, last } = depthsInSight(scrollTop, height, depths);
  let band = -1;
  let pieces: readonly DrawnPiece[] = [];
  for (let depth = first; depth <= last; ++depth) {
    const own = Math.floor(depth / BAND_DEPTHS);
    if (own !== band) [band, pieces] = [own, drawnPieces(scene, own)];
    visit(depth, pieces);
  }
}

export function depthsInSight(scrollTop: number, height: number, depths: number): { first: number; last: number } {
  const first = Math.max(0, Math.floor(scrollTop / DEPTH_PIXELS));
  return { first, last: Math.min(depths - 1, Math.floor((scrollTop + height) / DEPTH_PIXELS)) };
}

interface Written {
  readonly text: string;
  readonly left: number;
  readonly right: number;
}

function drawDepth(pen: Pen, pieces: readonly DrawnPiece[], depth: number): void {
  const { view, width } = pen;
  const brush = new Brush();
  const written: Written[] = [];
  let labelled: Bar["call"];
  forEachBar(pieces, depth, view, (bar, piece) => {
    const left = Math.max(-1, Math.round(pixelOf(view, width, Math.max(bar.start, piece.from))));
    const right = Math.min(width + 1, Math.round(pixelOf(view, width, Math.min(bar.end, piece.to))));
    const room = right - left > 3 && bar.end <= piece.to ? 1 : 0;
    brush.add(bar.look, left, Math.max(left + 1, right - room), bar.call !== undefined && right - left > 1);
    if (!bar.call || bar.call === labelled) return;
    const text = textOf(bar, view, width);
    if (text) written.push(text);
    labelled = bar.call;
  });
  const top = depth * DEPTH_PIXELS;
  brush.paint(pen, top, DEPTH_PIXELS - 1, (look) => colorOf(pen.palette, look), alphaOf);
  writeAll(pen, written, top);
}

// At the part that is in sight, whatever tile it comes from.
function textOf(bar: Bar, view: Viewport, width: number): Written | undefined {
  const left = Math.max(0, pixelOf(view, width, bar.start));
  const right = Math.min(width, pixelOf(view, width, bar.end));
  return right - left < LEAST_TEXT ? undefined : { text: bar.label, left, right };
}

function writeAll({ context }: Pen, written: readonly Written[], top: number): void {
  let before = -1;
  context.font = FONT;
  context.textBaseline = "middle";
  context.fillStyle = "#0b1219";
  for (const { text, left, right } of written) {
    // A call that lies in two tiles is told once.
    if (left === before) continue;
    before = left;
    const letters = Math.floor((right - left - 8) / LETTER);
    const shown = text.length > letters ? `${text.slice(0, Math.max(1, letters - 1))}…` : text;
    context.fillText(shown, left + 4, top + DEPTH_PIXELS / 2);
  }
}

// Gaps are hatched from top to bottom: nothing that stands there is all that happened.
function drawBreaks({ context, view, width, height, palette }: Pen, scene: Scene): void {
  context.fillStyle = palette.color.panel;
  context.fillRect(0, 0, width, STRIP_PIXELS);
  for (const { start, end, kind } of breaksIn(scene)) {
    const left = Math.max(0, Math.floor(pixelOf(view, width, start)));
    const right = Math.min(width, Math.max(left + 1, Math.ceil(pixelOf(view, width, end))));
    context.fillStyle = kind === "gap" ? palette.hatch : palette.color.panel;
    context.fillRect(left, STRIP_PIXELS, right - left, height - STRIP_PIXELS);
    context.fillStyle = kind === "gap" ? palette.color.bad : palette.color.sleeping;
    context.fillRect(left, 2, right - left, STRIP_PIXELS - 4);
  }
}

function drawCall({ context, view, width, palette }: Pen, { start, end, depth }: NonNullable<Marks["call"]>): void {
  const left = Math.max(-4, Math.round(pixelOf(view, width, start)));
  const right = Math.min(width + 4, Math.max(left + 2, Math.round(pixelOf(view, width, end))));
  context.strokeStyle = palette.color.text;
  context.lineWidth = 2;
  context.strokeRect(left, depth * DEPTH_PIXELS, right - left, DEPTH_PIXELS - 1);
}

function drawMarks({ context, view, width, height, palette }: Pen, { at, listed }: Marks): void {
  if (listed) {
    const left = Math.max(0, pixelOf(view, width, listed.start));
    const right = Math.min(width, Math.max(left + 2, pixelOf(view, width, listed.end)));
    context.globalAlpha = 0.16;
    context.fillStyle = palette.color.accent;
    if (right > left) context.fillRect(left, 0, right - left, height);
    context.globalAlpha = 1;
  }
  if (at === undefined || at < view.begin || at > endOf(view)) return;
  const left = Math.round(pixelOf(view, width, at));
  context.fillStyle = palette.color.selected;
  context.fillRect(left - 1, 0, 2, height);
  context.beginPath();
  context.moveTo(left - 5, 0);
  context.lineTo(left + 5, 0);
  context.lineTo(left, 8);
  context.fill();
}

/** All of the thread in small, from its coarsest tile, and below it ticks. */
export function axisPainter(scene: Omit<Scene, "width">, depths: number, label: TickLabel, at?: number): Painter {
  return (context, width) => {
    const palette = paletteOf(context);
    const whole = { begin: scene.extent.start, duration: Math.max(1, scene.extent.end - scene.extent.start) };
    const pen: Pen = { context, view: whole, width, height: OVERVIEW_HEIGHT, palette };
    drawOverview(pen, scene, depths);
    drawInSight(pen, scene.view);
    if (at !== undefined) {
      context.fillStyle = palette.color.selected;
      context.fillRect(Math.round(pixelOf(whole, width, at)), 0, 1, OVERVIEW_HEIGHT);
    }
    drawTicks({ ...pen, view: scene.view }, label);
  };
}

function drawOverview(pen: Pen, { extent, tileAt }: Omit<Scene, "width">, depths: number): void {
  const { context, palette, width } = pen;
  context.fillStyle = palette.color.panel;
  context.fillRect(0, 0, width, OVERVIEW_HEIGHT);
  const place = { level: coarsest(extent), index: 0, band: 0 };
  const tile = tileAt(tileKey(place));
  if (!tile) return;
  const shown = Math.min(depths, 9);
  const height = (OVERVIEW_HEIGHT - 3) / Math.max(1, shown);
  const piece = { place, tile, from: extent.start, to: extent.end + 1 };
  for (let depth = 0; depth < shown; ++depth) {
    const brush = new Brush();
    forEachBar([piece], depth, pen.view, ({ look, start, end }) => {
      const left = Math.round(pixelOf(pen.view, width, start));
      brush.add(look, left, Math.max(left + 1, Math.round(pixelOf(pen.view, width, end))), false);
    });
    brush.paint(pen, 2 + depth * height, Math.max(1, height - 0.5), (look) => colorOf(palette, look), alphaOf);
  }
}
