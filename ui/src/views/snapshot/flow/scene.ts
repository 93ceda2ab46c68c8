// What is in sight of a thread's calls, put together from tiles: pure.
import type { SnapshotViewBreak } from "@/api/generated/answers";
import { endOf, nanoOf, pixelOf, type Viewport } from "@/draw/viewport";
import { firstBar, type Bar, type Tile } from "./tile";
import { BAND_DEPTHS, piecesOf, tileKey, type Extent, type Piece } from "./tiles";

export interface Scene {
  readonly extent: Extent;
  readonly view: Viewport;
  readonly width: number;
  readonly tileAt: (key: string) => Tile | undefined;
}

export interface DrawnPiece extends Piece {
  readonly tile: Tile;
}

export function drawnPieces(scene: Scene, band: number): readonly DrawnPiece[] {
  const { extent, view, width, tileAt } = scene;
  const has = (key: string) => tileAt(key) !== undefined;
  return piecesOf(extent, view, width, band, has).flatMap((piece) => {
    const tile = tileAt(tileKey(piece.place));
    return tile ? [{ ...piece, tile }] : [];
  });
}

/** Left to right; `piece` is what the bar is drawn in, and no further. */
export function forEachBar(
  pieces: readonly DrawnPiece[],
  depth: number,
  view: Viewport,
  visit: (bar: Bar, piece: DrawnPiece) => void,
): void {
  const end = endOf(view);
  for (const piece of pieces) {
    const bars = piece.tile.byDepth.get(depth);
    if (!bars) continue;
    const [from, to] = [Math.max(piece.from, view.begin), Math.min(piece.to, end)];
    for (let at = firstBar(bars, from); at < bars.length; ++at) {
      const bar = bars[at];
      if (!bar || bar.start >= to) break;
      // What only touches the edge is the neighbour's, but for what has no width and lies on it.
      if (bar.end === from && bar.start < from) continue;
      visit(bar, piece);
    }
  }
}

const NEAR_PIXELS = 2;

/** What is below the pointer: the bar there, else one that is so narrow that it can hardly be hit. */
export function barAt(scene: Scene, depth: number, across: number): Bar | undefined {
  const { view, width } = scene;
  const offset = nanoOf(view, width, across);
  let near: Bar | undefined;
  let distance = NEAR_PIXELS + 0.5;
  forEachBar(drawnPieces(scene, Math.floor(depth / BAND_DEPTHS)), depth, view, (bar) => {
    const left = pixelOf(view, width, bar.start);
    const right = Math.max(left + 1, pixelOf(view, width, bar.end));
    const away = Math.max(0, left - across, across - right);
    // Of two that touch, the one that holds the offset.
    const score = bar.start <= offset && offset < bar.end ? -1 : away;
    if (score < distance) [near, distance] = [bar, score];
  });
  return near;
}

/** Gaps before pauses, where both are. */
export function breakAt(scene: Scene, across: number): SnapshotViewBreak | undefined {
  const { view, width } = scene;
  const offset = nanoOf(view, width, across);
  const reach = (view.duration / Math.max(1, width)) * NEAR_PIXELS;
  const found = breaksIn(scene).filter(({ start, end }) => start - reach <= offset && offset <= end + reach);
  return found.find(({ kind }) => kind === "gap") ?? found[0];
}

/** Of the first band, which is always asked for where calls are in sight. */
export function breaksIn(scene: Scene, band = 0): readonly SnapshotViewBreak[] {
  const end = endOf(scene.view);
  return drawnPieces(scene, band).flatMap(({ tile, from, to }) =>
    tile.breaks
      .filter((one) => one.end >= Math.max(from, scene.view.begin) && one.start < Math.min(to, end))
      .map((one) => ({ ...one, start: Math.max(one.start, from), end: Math.min(one.end, to) })),
  );
}
