// Tracks that are drawn as bars or ticks: what all the kinds that there are have in common.
import { formatDuration } from "@/time/nano";
import type { ItemIndex, Run } from "../item_index";
import type { Palette } from "../palette";
import { Brush } from "@/draw/brush";
import { partOver, type UnknownPart } from "../unknown_parts";
import { endOf, pixelOf, type Viewport } from "@/draw/viewport";
import type { Hit, Pen, Track } from "./track";

/** What a kind of track says; the rest of a Track follows. */
export interface Bars extends Omit<Track, "draw" | "hit" | "height"> {
  readonly color: (kind: number, palette: Palette) => string;
  /** What is written on (beside, for instants) an item that has room; "": nothing. */
  readonly text: (row: number, item: number) => string;
  /** Drawn fainter: it was concluded, not recorded. */
  readonly guessed?: (row: number, item: number) => boolean;
  /** Marked at its lower edge: an error. */
  readonly marked?: (kind: number) => boolean;
}

const FONT = "11px system-ui, 'DejaVu Sans', sans-serif";
const LETTER = 6.3;
const LEAST_TEXT = 34;

export function barTrack(bars: Bars): Track {
  const height = bars.rows.length * bars.rowHeight;
  return {
    ...bars,
    height,
    draw: (pen, top) => {
      drawUnknown(pen, bars.unknown, top, height);
      bars.rows.forEach((row, at) => drawRow(pen, bars, row, at, top + at * bars.rowHeight));
    },
    hit: (view, width, across, down) => hitRow(bars, view, width, across, Math.floor(down / bars.rowHeight)),
  };
}

function hitRow(bars: Bars, view: Viewport, width: number, across: number, row: number): Hit | undefined {
  const index = bars.rows[row];
  const run = index?.runAt(view, width, across);
  return index && run && { run, row, item: index.longest(run.first, run.last) };
}

export function drawUnknown(pen: Pen, parts: readonly UnknownPart[], top: number, height: number): void {
  pen.context.fillStyle = pen.palette.hatch;
  for (const part of parts) {
    const left = Math.max(0, pixelOf(pen.view, pen.width, part.begin));
    const right = Math.min(pen.width, pixelOf(pen.view, pen.width, part.end));
    if (right > left) pen.context.fillRect(left, top, right - left, height);
  }
}

const ALPHAS = [0.4, 0.55, 0.7, 0.85, 1];

function drawRow(pen: Pen, bars: Bars, index: ItemIndex, row: number, top: number): void {
  const brush = new Brush();
  const labels: Run[] = [];
  index.forEachRun(pen.view, pen.width, (run) => {
    const left = Math.max(-2, Math.round(run.left));
    const right = Math.min(pen.width + 2, Math.max(Math.round(run.right), left + 1));
    const separate = run.last === run.first + 1 && right - left >= 4;
    if (right - left >= LEAST_TEXT || (index.instants && roomBehind(pen, index, run) >= LEAST_TEXT)) labels.push(run);
    const look = run.kind * ALPHAS.length + alphaOf(bars, run, row);
    brush.add(look, left, separate ? right - 1 : right, separate);
  });
  paintBrush(pen, bars, brush, top);
  pen.context.globalAlpha = 1;
  pen.context.font = FONT;
  pen.context.textBaseline = "middle";
  for (const run of labels) drawText(pen, bars, index, row, run, top);
}

// A merged pixel that items have little of is drawn faint: in few steps, so that neighbours join.
function alphaOf(bars: Bars, run: Run, row: number): number {
  if (run.last > run.first + 1) return Math.ceil(run.coverage * 4);
  return bars.guessed?.(row, run.first) ? 1 : 4;
}

function paintBrush(pen: Pen, bars: Bars, brush: Brush, top: number): void {
  const height = bars.rowHeight - 2;
  const kindOf = (look: number) => Math.floor(look / ALPHAS.length);
  const color = (look: number) => bars.color(kindOf(look), pen.palette);
  brush.paint(pen, top + 1, height, color, (look) => ALPHAS[look % ALPHAS.length] ?? 1);
  if (!bars.marked) return;
  const marks = brush.only((look) => bars.marked?.(kindOf(look)) ?? false);
  marks.paint(
    pen,
    top + height - 2,
    3,
    () => pen.palette.color.bad,
    () => 1,
  );
}

function drawText(pen: Pen, bars: Bars, index: ItemIndex, row: number, run: Run, top: number): void {
  const left = Math.max(run.left, 0) + 4;
  const right = Math.min(index.instants ? run.left + roomBehind(pen, index, run) : run.right, pen.width) - 3;
  const shown = shortened(bars.text(row, run.first), right - left);
  if (shown === "") return;
  const { context, palette } = pen;
  // What is guessed is faint: its ground is near the page's, and so is its text.
  const plain = index.instants || bars.guessed?.(row, run.first);
  context.fillStyle = plain ? palette.color.text : palette.ink(bars.color(run.kind, palette));
  context.fillText(shown, left, top + bars.rowHeight / 2 + 0.5);
}

function roomBehind(pen: Pen, index: ItemIndex, run: Run): number {
  const next = run.last < index.length ? index.beginOf(run.last) : endOf(pen.view) + pen.view.duration;
  return ((next - index.beginOf(run.first)) / pen.view.duration) * pen.width - 2;
}

function shortened(text: string, room: number): string {
  const letters = Math.floor(room / LETTER);
  if (text.length <= letters) return text;
  return letters >= 4 ? `${text.slice(0, letters - 1)}…` : "";
}

/** "37 states in 1.2 ms: running 60 %, sleeping 40 %": what a merged run stands for. */
export function mergedText(track: Track, hit: Hit): string {
  const { first, last } = hit.run;
  const index = track.rows[hit.row];
  if (!index) return "";
  const shares = index.shares(first, last);
  const all = shares.reduce((sum, share) => sum + share, 0);
  const named = shares
    .map((share, kind) => ({ share, name: track.kindName(kind) }))
    .filter(({ share }) => share > 0)
    .sort((one, other) => other.share - one.share)
    .slice(0, 4)
    .map(({ share, name }) => `${name} ${Math.round((100 * share) / Math.max(all, 1e-9))} %`);
  const lasted = formatDuration(index.endOf(last - 1) - index.beginOf(first));
  return `${last - first} ${track.label} in ${lasted}${named.length > 0 ? `: ${named.join(", ")}` : ""}`;
}

export function whyUnknown(track: Track, nano: number): string | undefined {
  return partOver(track.unknown, nano)?.why;
}
