// The loaders of one thread: tiles of calls, pages of rows.
import { useEffect, useMemo, useState } from "preact/hooks";
import { ask } from "@/api/ask";
import type { SnapshotViewCallsAnswer, SnapshotViewRowsAnswer } from "@/api/generated/answers";
import { pageParams, tileParams, viewPath, type Source } from "./address";
import { Loader } from "./loader";
import { pageOf, type Page } from "./rows";
import { joined, tileOf, type Tile } from "./tile";
import { parseTileKey, type Extent } from "./tiles";

const MOST_TILES = 96;
const MOST_PAGES = 160;
const AT_ONCE = 4;
/** An answer has some depths where there would be too many calls; a band is put together from at most so many. */
const MOST_PARTS = 8;

async function loadTile(source: Source, extent: Extent, key: string, signal: AbortSignal): Promise<Tile> {
  const path = viewPath(source.id, "/calls");
  const place = parseTileKey(key);
  let tile = tileOf(await ask<SnapshotViewCallsAnswer>(path, tileParams(source, extent, place), signal));
  for (let part = 1; part < MOST_PARTS && tile.leftOutFrom < Infinity; ++part) {
    const params = tileParams(source, extent, place, tile.leftOutFrom);
    if (Number(params["depths"]) <= 0) break;
    tile = joined(tile, tileOf(await ask<SnapshotViewCallsAnswer>(path, params, signal)));
  }
  return tile;
}

async function loadPage(source: Source, key: string, signal: AbortSignal): Promise<Page> {
  return pageOf(await ask<SnapshotViewRowsAnswer>(viewPath(source.id, "/insns"), pageParams(source, key), signal));
}

export interface Pieces {
  readonly tiles: Loader<Tile>;
  readonly pages: Loader<Page>;
  /** Another number whenever something came. */
  readonly tilesVersion: number;
  readonly pagesVersion: number;
}

export function usePieces(source: Source, extent: Extent): Pieces {
  const [tilesVersion, setTiles] = useState(0);
  const [pagesVersion, setPages] = useState(0);
  const loaders = useMemo(() => {
    const options = { atOnce: AT_ONCE };
    const tiles = new Loader<Tile>({
      ...options,
      most: MOST_TILES,
      load: (key, signal) => loadTile(source, extent, key, signal),
      changed: () => setTiles((before) => before + 1),
    });
    const pages = new Loader<Page>({
      ...options,
      most: MOST_PAGES,
      load: (key, signal) => loadPage(source, key, signal),
      changed: () => setPages((before) => before + 1),
    });
    return { tiles, pages };
  }, [source, extent]);
  useEffect(
    () => () => {
      loaders.tiles.close();
      loaders.pages.close();
    },
    [loaders],
  );
  return { ...loaders, tilesVersion, pagesVersion };
}
