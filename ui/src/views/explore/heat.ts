// Heat: a heatmap's answer as a grid that can be looked up, and what follows from it. Row 0 is at the bottom.
import type { HeatmapAnswer } from "@/api/generated/answers";
import type { UnixNano } from "@/time/nano";

export interface Heat {
  readonly start: UnixNano;
  readonly stepNano: number;
  readonly columns: number;
  readonly rows: number;
  /** Row i holds durations above bound i, up to bound i + 1. */
  readonly bounds: readonly number[];
  /** By column, then row: counts[column * rows + row]. */
  readonly counts: Float64Array;
  readonly errors: Float64Array;
  readonly mostInCell: number;
  /** By column. */
  readonly columnCounts: Float64Array;
  readonly columnErrors: Float64Array;
  /** False: the errors of a column are right, those of a cell are not known. */
  readonly errorsExact: boolean;
  /** Every span failed, as where only errors are asked for: then errors say nothing. */
  readonly onlyErrors: boolean;
  readonly spans: number;
}

export function heatOf(answer: HeatmapAnswer): Heat {
  const { columns } = answer;
  const rows = Math.max(answer.row_bounds_nano.length - 1, 0);
  const heat = {
    ...{ start: BigInt(answer.start_time_unix_nano), stepNano: answer.step_nano, columns, rows },
    ...{ bounds: answer.row_bounds_nano, errorsExact: answer.errors_exact, spans: answer.spans },
    onlyErrors: answer.spans > 0 && answer.errors === answer.spans,
    ...{ counts: new Float64Array(columns * rows), errors: new Float64Array(columns * rows) },
    ...{ columnCounts: new Float64Array(columns), columnErrors: new Float64Array(columns) },
  };
  let mostInCell = 0;
  for (const [column, row, count, errors] of answer.cells) {
    if (column >= columns || row >= rows) continue;
    heat.counts[column * rows + row] = count;
    heat.errors[column * rows + row] = errors;
    heat.columnCounts[column]! += count;
    heat.columnErrors[column]! += errors;
    mostInCell = Math.max(mostInCell, count);
  }
  return { ...heat, mostInCell };
}

/** From 0 for one span to 1 for the most, by the logarithm: one slow request stays visible beside a million quick ones. */
export function warmth(count: number, most: number): number {
  return most <= 1 ? 1 : Math.log(count) / Math.log(most);
}

/**
 * How red a cell is, from 0 to 1: by the share of its spans that failed. Below a hundredth not at all: among a million
 * spans some always fail.
 */
export function redness(errors: number, count: number): number {
  const share = count > 0 ? errors / count : 0;
  return share < 0.01 ? 0 : Math.min(1, Math.sqrt(share));
}

/** Cells from (column, row) to (column, row), both inclusive. */
export interface Box {
  readonly left: number;
  readonly right: number;
  readonly low: number;
  readonly high: number;
}

export interface Tally {
  readonly count: number;
  readonly errors: number;
}

export function tally({ counts, errors, rows }: Heat, box: Box): Tally {
  let [count, failed] = [0, 0];
  for (let column = box.left; column <= box.right; ++column) {
    for (let row = box.low; row <= box.high; ++row) {
      count += counts[column * rows + row] ?? 0;
      failed += errors[column * rows + row] ?? 0;
    }
  }
  return { count, errors: failed };
}

// Fewer of them than that differ from the others by chance alone.
const FEWEST_SLOW = 20;

/** Which share of the spans is called the slowest: a hundredth, unless that is too few to tell anything. */
export function slowestShare({ spans }: Heat): number {
  return [0.01, 0.02, 0.05].find((share) => share * spans >= FEWEST_SLOW) ?? 0.1;
}

function countOfRow(heat: Heat, row: number): number {
  return tally(heat, { left: 0, right: heat.columns - 1, low: row, high: row }).count;
}

/** The lowest row so that at most this share of all spans lies in it and above; undefined for an empty heatmap. */
export function rowOfSlowest(heat: Heat, share: number): number | undefined {
  if (heat.spans === 0) return undefined;
  let above = 0;
  let found: number | undefined;
  for (let row = heat.rows - 1; row >= 0; --row) {
    const count = countOfRow(heat, row);
    if (count === 0) continue;
    if (found !== undefined && above + count > share * heat.spans) return found;
    above += count;
    found = row;
  }
  return found;
}

const FEWEST_APART = 4;
const MOST_APART = 0.1;
const GAP_ROWS = 2;
const GAP_FACTOR = 1.3;

/** Those above a gap: `row` is the lowest that has any of them. */
export interface Apart {
  readonly row: number;
  readonly count: number;
}

/**
 * The few that are slow, where nothing lies between them and the others: a share would cut through these. Of several
 * gaps the widest tells them apart.
 */
export function slowestApart(heat: Heat): Apart | undefined {
  let [above, row, widest] = [0, heat.rows, GAP_FACTOR];
  let found: Apart | undefined;
  for (let next = heat.rows - 1; next >= 0 && above <= MOST_APART * heat.spans; --next) {
    const count = countOfRow(heat, next);
    if (count === 0) continue;
    const factor = (heat.bounds[row] ?? 0) / (heat.bounds[next + 1] ?? 1);
    if (above >= FEWEST_APART && row - next > GAP_ROWS && factor > widest)
      [found, widest] = [{ row, count: above }, factor];
    above += count;
    row = next;
  }
  return found;
}

/** What the page calls the slowest, before anything is selected. */
export function slowestRow(heat: Heat): number | undefined {
  return slowestApart(heat)?.row ?? rowOfSlowest(heat, slowestShare(heat));
}
