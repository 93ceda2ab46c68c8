// Selections: between boxes of cells, which hands draw, and times and durations, which the address and the server have.
import { slowestApart, tally, type Box, type Heat } from "./heat";
import type { Selection } from "./words";

export interface Cell {
  readonly column: number;
  readonly row: number;
}

export function boxBetween(one: Cell, other: Cell): Box {
  return {
    left: Math.min(one.column, other.column),
    right: Math.max(one.column, other.column),
    low: Math.min(one.row, other.row),
    high: Math.max(one.row, other.row),
  };
}

/** So long and longer: beyond it numbers are not exact. */
const LONGEST = Number.MAX_SAFE_INTEGER;

/** Exactly the spans that the box's cells count: a row begins above its low bound. */
export function selectionOf(heat: Heat, box: Box): Selection {
  return {
    from: heat.start + BigInt(box.left) * BigInt(heat.stepNano),
    to: heat.start + BigInt(box.right + 1) * BigInt(heat.stepNano),
    minNano: Math.min((heat.bounds[box.low] ?? 0) + (box.low > 0 ? 1 : 0), LONGEST),
    maxNano: Math.min(heat.bounds[box.high + 1] ?? LONGEST, LONGEST),
  };
}

/** The cells that a selection touches; undefined where it lies outside of this picture. */
export function boxOf(heat: Heat, { from, to, minNano, maxNano }: Selection): Box | undefined {
  const step = BigInt(heat.stepNano);
  const left = Number(floorDivided(from - heat.start, step));
  const right = Number(floorDivided(to - 1n - heat.start, step));
  const low = rowOf(heat, minNano);
  const high = maxNano === LONGEST ? heat.rows : rowOf(heat, maxNano);
  if (right < 0 || left >= heat.columns || low >= heat.rows || high < 0) return undefined;
  return {
    ...{ left: Math.max(left, 0), right: Math.min(right, heat.columns - 1) },
    ...{ low: Math.max(low, 0), high: Math.min(high, heat.rows - 1) },
  };
}

/** Whether the selection is of those that stand apart, and of all of them, also where a live picture has gone on. */
export function holdsApart(heat: Heat, selection: Selection | undefined): boolean {
  const apart = slowestApart(heat);
  const box = selection && boxOf(heat, selection);
  return box !== undefined && box.low === apart?.row && tally(heat, box).count === apart.count;
}

/** Whether the picture becomes another one where one zooms into it: times are zoomed, durations are not. */
export function zooms(heat: Heat, { from, to }: Selection): boolean {
  return from > heat.start || to < heat.start + BigInt(heat.stepNano) * BigInt(heat.columns);
}

function floorDivided(value: bigint, by: bigint): bigint {
  return value >= 0n ? value / by : (value - by + 1n) / by;
}

/** -1 below the picture, `rows` above it. */
export function rowOf({ bounds, rows }: Heat, nano: number): number {
  if (nano < (bounds[0] ?? 0)) return -1;
  if (nano === bounds[0]) return 0;
  const bound = bounds.findIndex((high) => nano <= high);
  return bound < 0 ? rows : bound - 1;
}

export function cellAt(heat: Heat, x: number, y: number, width: number, height: number): Cell {
  const inside = (value: number, most: number): number => Math.max(0, Math.min(most - 1, Math.floor(value)));
  return {
    column: inside((x / width) * heat.columns, heat.columns),
    row: inside((1 - y / height) * heat.rows, heat.rows),
  };
}

export interface Cursor {
  readonly at: Cell;
  /** Where the extension began. */
  readonly anchor: Cell;
}

const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

/** The cursor after an arrow key; the first one puts it where the picture is warmest among the slow. */
export function moved(heat: Heat, cursor: Cursor | undefined, key: string, extend: boolean, by = 1): Cursor {
  const [across, up] = STEPS[key] ?? [0, 0];
  if (!cursor) return { at: slowestCell(heat), anchor: slowestCell(heat) };
  const at = {
    column: Math.max(0, Math.min(heat.columns - 1, cursor.at.column + across * by)),
    row: Math.max(0, Math.min(heat.rows - 1, cursor.at.row + up * by)),
  };
  return { at, anchor: extend ? cursor.anchor : at };
}

/** The topmost cell that has any spans, of equals the leftmost. */
export function slowestCell({ counts, columns, rows }: Heat): Cell {
  for (let row = rows - 1; row >= 0; --row) {
    for (let column = 0; column < columns; ++column) {
      if ((counts[column * rows + row] ?? 0) > 0) return { column, row };
    }
  }
  return { column: 0, row: 0 };
}
