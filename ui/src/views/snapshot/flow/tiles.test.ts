import { expect, it } from "vitest";
import {
  bandsOf,
  coarsest,
  levelOf,
  parseTileKey,
  piecesOf,
  rangeOf,
  sourceOf,
  TILE_COLUMNS,
  tileKey,
  wantedTiles,
} from "./tiles";

const extent = { start: -500, end: 9_999_500 };
const whole = { begin: extent.start, duration: extent.end - extent.start };

it("reads back what a key says", () => {
  const place = { level: 12, index: 4711, band: 3 };
  expect(parseTileKey(tileKey(place))).toEqual(place);
});

it("has the whole thread in its coarsest tile", () => {
  const { from, to } = rangeOf(extent, { level: coarsest(extent), index: 0, band: 0 });
  expect(from).toBe(extent.start);
  expect(to).toBeGreaterThan(extent.end);
});

it("takes columns of half a pixel to a pixel, down to a nanosecond", () => {
  for (let duration = whole.duration; duration > 3000; duration /= 1.7) {
    const column = 2 ** levelOf(extent, { begin: 0, duration }, 1280) / TILE_COLUMNS;
    expect(column).toBeLessThanOrEqual(duration / 1280);
    expect(column).toBeGreaterThan(duration / 1280 / 2);
  }
  expect(2 ** levelOf(extent, { begin: 0, duration: 20 }, 1280)).toBe(TILE_COLUMNS);
});

it("wants what is in sight and a tile at each side, and never more for a wider thread", () => {
  const long = { start: 0, end: 1e15 };
  const wanted = wantedTiles(long, { begin: 5e14, duration: 1e6 }, 2560, [0]);
  expect(wanted.length).toBeLessThanOrEqual(9);
  expect(wanted[0]).toEqual({ level: coarsest(long), index: 0, band: 0 });
  expect(new Set(wanted.map(tileKey)).size).toBe(wanted.length);
});

it("wants nothing beside the thread", () => {
  for (const { level, index } of wantedTiles(extent, { begin: -4e6, duration: 5e6 }, 1280, [0])) {
    const { from } = rangeOf(extent, { level, index, band: 0 });
    expect(index).toBeGreaterThanOrEqual(0);
    expect(from).toBeLessThanOrEqual(extent.end);
  }
});

it("draws from the nearest coarser tile while a finer one is on its way", () => {
  const here = new Set(["14/0/0", "12/1/0"]);
  const has = (key: string) => here.has(key);
  const small = { start: 0, end: 16383 };
  expect(sourceOf(small, { level: 10, index: 5, band: 0 }, has)).toEqual({ level: 12, index: 1, band: 0 });
  expect(sourceOf(small, { level: 10, index: 9, band: 0 }, has)).toEqual({ level: 14, index: 0, band: 0 });
  expect(sourceOf(small, { level: 10, index: 9, band: 1 }, has)).toBeUndefined();
});

it("leaves no hole and draws nothing twice", () => {
  const small = { start: 0, end: 16383 };
  const here = new Set(["14/0/0", "12/1/0", "10/4/0"]);
  const pieces = piecesOf(small, { begin: 0, duration: 16384 / 16 }, 1024, 0, (key) => here.has(key));
  expect(pieces.length).toBeGreaterThan(0);
  const view = { begin: 3000, duration: 2000 };
  let at = -Infinity;
  for (const piece of piecesOf(small, view, 2000, 0, (key) => here.has(key))) {
    if (at !== -Infinity) expect(piece.from).toBe(at);
    at = piece.to;
  }
  expect(at).toBeGreaterThanOrEqual(5000);
});

it("knows the bands of depths", () => {
  expect(bandsOf(0, 31)).toEqual([0]);
  expect(bandsOf(30, 33)).toEqual([0, 1]);
  expect(bandsOf(-3, 0)).toEqual([0]);
});
