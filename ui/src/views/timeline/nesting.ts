// Nesting: spans of one thread to rows, a child below its parent; of spans that overlap without being nested (a
// thread that serves several requests in turns) each has a row of its own.

export interface Lasting {
  readonly begin: number;
  readonly end: number;
}

/** By begin within each row; in a row none overlaps another. `isParent`: the second is a child of the first. */
export function nestedRows<T extends Lasting>(items: readonly T[], isParent?: (above: T, below: T) => boolean): T[][] {
  const sorted = [...items].sort((one, other) => one.begin - other.begin || other.end - one.end);
  const rows: T[][] = [];
  for (const item of sorted) {
    let at = rows.length;
    while (at > 0 && !isAbove(lastOf(rows[at - 1]), item, isParent)) --at;
    while (at < rows.length && !isFree(rows[at], item)) ++at;
    (rows[at] ??= []).push(item);
  }
  return rows;
}

function isAbove<T extends Lasting>(last: T | undefined, item: T, isParent?: (above: T, below: T) => boolean): boolean {
  if (!last) return false;
  if (isParent?.(last, item)) return true;
  return last.begin <= item.begin && last.end >= item.end && last.end > item.begin;
}

function isFree<T extends Lasting>(row: readonly T[] | undefined, item: T): boolean {
  const last = lastOf(row);
  return !last || last.end <= item.begin;
}

function lastOf<T>(row: readonly T[] | undefined): T | undefined {
  return row?.[row.length - 1];
}
