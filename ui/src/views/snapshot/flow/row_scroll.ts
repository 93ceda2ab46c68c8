// Where a list of millions of rows is scrolled to: pure.
//
// No browser has an element of 10 million rows' height, so the scrolled area is lower than the list where it must be,
// and the place in the list is a number of its own: pixels from the list's top, exact. The wheel, a finger and keys move
// by that; only who drags the bar goes by the area, in proportion.

/** Browsers allow 16 million and more. */
export const MOST_PIXELS = 8_000_000;

export interface ListSize {
  readonly rows: number;
  readonly rowHeight: number;
  /** Of what is in sight. */
  readonly height: number;
}

export function areaHeight({ rows, rowHeight }: ListSize): number {
  return Math.min(MOST_PIXELS, rows * rowHeight);
}

/** The furthest one can scroll to. */
export function lastTop({ rows, rowHeight, height }: ListSize): number {
  return Math.max(0, rows * rowHeight - height);
}

export function clampTop(size: ListSize, top: number): number {
  return Math.min(Math.max(0, top), lastTop(size));
}

/** The scroll position that stands for a place: both ends are exact, and between them order is kept. */
export function positionOf(size: ListSize, top: number): number {
  const most = Math.max(0, areaHeight(size) - size.height);
  return lastTop(size) === most ? top : (top / Math.max(1, lastTop(size))) * most;
}

export function topOf(size: ListSize, position: number): number {
  const most = Math.max(0, areaHeight(size) - size.height);
  return lastTop(size) === most ? position : (position / Math.max(1, most)) * lastTop(size);
}

/** Where a move of the scroll position from `before` leads: a small one is one of pixels, a large one of the bar. */
export function topAfter(size: ListSize, top: number, before: number, position: number): number {
  const moved = position - before;
  const small = Math.abs(moved) <= size.height * 1.5;
  return clampTop(size, small ? top + moved : topOf(size, position));
}

/** The first row that is in sight, and the first one behind. */
export function rowsInSight(size: ListSize, top: number): { first: number; end: number } {
  const first = Math.floor(top / size.rowHeight);
  return { first, end: Math.min(size.rows, Math.ceil((top + size.height) / size.rowHeight)) };
}

export function isInSight(size: ListSize, top: number, row: number): boolean {
  const { first, end } = rowsInSight(size, top);
  return size.height > 0 && row >= first && row < end;
}

/** Moved as little as needed so that the row is in sight; one that is far away comes to the middle. */
export function revealing(size: ListSize, top: number, row: number): number {
  const { rowHeight, height } = size;
  const at = row * rowHeight;
  const room = Math.min(2 * rowHeight, height / 4);
  if (at >= top + room && at + rowHeight <= top + height - room) return top;
  const far = at < top - height || at > top + 2 * height;
  const target = far ? at - (height - rowHeight) / 2 : at < top + room ? at - room : at + rowHeight + room - height;
  return clampTop(size, target);
}
