// Tiles: into which pieces a thread's calls are cut to be fetched: pure.
//
// A level halves the one above it: a tile of level L is 2^L units long (nanoseconds, ticks or rows) and drawn from
// TILE_COLUMNS columns; the coarsest tile has the whole thread. Depths come in bands. A tile that is not here yet is drawn
// from the nearest coarser one that is, so that nothing flickers.
import { endOf, type Viewport } from "@/draw/viewport";

export const TILE_COLUMNS = 1024;
export const BAND_DEPTHS = 32;
/** A column for each nanosecond: nothing is finer. */
const FINEST = 10;

/** From the first to the last offset of a thread. */
export interface Extent {
  readonly start: number;
  readonly end: number;
}

export interface TilePlace {
  readonly level: number;
  readonly index: number;
  readonly band: number;
}

/** What of a tile is drawn where. */
export interface Piece {
  readonly place: TilePlace;
  readonly from: number;
  readonly to: number;
}

export function tileKey({ level, index, band }: TilePlace): string {
  return `${level}/${index}/${band}`;
}

export function parseTileKey(key: string): TilePlace {
  const [level = 0, index = 0, band = 0] = key.split("/").map(Number);
  return { level, index, band };
}

export function coarsest({ start, end }: Extent): number {
  return Math.max(FINEST, Math.ceil(Math.log2(end - start + 1)));
}

/** The level whose columns are at most a pixel wide, and more than half of one. */
export function levelOf(extent: Extent, view: Viewport, width: number): number {
  const column = view.duration / Math.max(1, width);
  const level = Math.floor(Math.log2(column * TILE_COLUMNS));
  return Math.min(Math.max(level, FINEST), coarsest(extent));
}

export function rangeOf({ start }: Extent, { level, index }: TilePlace): { from: number; to: number } {
  const span = 2 ** level;
  return { from: start + index * span, to: start + (index + 1) * span };
}

/** Of this level, which indexes are in sight; empty beside the thread. */
function inSight(extent: Extent, view: Viewport, level: number): { first: number; last: number } {
  const span = 2 ** level;
  const last = Math.floor((extent.end - extent.start) / span);
  const at = (offset: number) => Math.floor((offset - extent.start) / span);
  return { first: Math.max(0, at(view.begin)), last: Math.min(last, at(endOf(view))) };
}

/** What is in sight, from the middle on, then what lies beside it, then the whole, which stands in for what is missing. */
export function wantedTiles(
  extent: Extent,
  view: Viewport,
  width: number,
  bands: readonly number[],
): readonly TilePlace[] {
  const level = levelOf(extent, view, width);
  const { first, last } = inSight(extent, view, level);
  const most = Math.floor((extent.end - extent.start) / 2 ** level);
  const middle = (first + last) / 2;
  const indexes = range(first, last).sort((one, other) => Math.abs(one - middle) - Math.abs(other - middle));
  const beside = [last + 1, first - 1].filter((index) => index >= 0 && index <= most && last >= first);
  const all = [...indexes, ...beside].flatMap((index) => bands.map((band) => ({ level, index, band })));
  const whole = bands.map((band) => ({ level: coarsest(extent), index: 0, band }));
  // The whole comes first: it is one piece, and there is something to see at once.
  return unique([...whole, ...all]);
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);
}

function unique(places: readonly TilePlace[]): TilePlace[] {
  return [...new Map(places.map((place) => [tileKey(place), place])).values()];
}

/** The tile itself, or the nearest coarser one that is here. */
export function sourceOf(extent: Extent, place: TilePlace, has: (key: string) => boolean): TilePlace | undefined {
  const top = coarsest(extent);
  for (let { level, index } = place; level <= top; ++level, index = Math.floor(index / 2)) {
    const source = { level, index, band: place.band };
    if (has(tileKey(source))) return source;
  }
  return undefined;
}

/** What a band of the view is drawn from, left to right; neighbours of the same tile are one. */
export function piecesOf(
  extent: Extent,
  view: Viewport,
  width: number,
  band: number,
  has: (key: string) => boolean,
): readonly Piece[] {
  const level = levelOf(extent, view, width);
  const { first, last } = inSight(extent, view, level);
  const pieces: Piece[] = [];
  for (let index = first; index <= last; ++index) {
    const { from, to } = rangeOf(extent, { level, index, band });
    const place = sourceOf(extent, { level, index, band }, has);
    const before = pieces[pieces.length - 1];
    if (!place) continue;
    if (before && before.to === from && tileKey(before.place) === tileKey(place))
      pieces[pieces.length - 1] = { ...before, to };
    else pieces.push({ place, from, to });
  }
  return pieces;
}

/** The bands that are in sight of depths from `first` to `last`. */
export function bandsOf(first: number, last: number): readonly number[] {
  return range(Math.floor(Math.max(0, first) / BAND_DEPTHS), Math.floor(Math.max(0, last) / BAND_DEPTHS));
}
