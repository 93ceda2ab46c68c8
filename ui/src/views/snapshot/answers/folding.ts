// Which rows of a call tree are closed: in the address by their ids.
import type { SnapshotCallRow } from "@/api/generated/answers";

type Node = Pick<SnapshotCallRow, "id" | "parent">;

export function readClosed(text: string | undefined): ReadonlySet<number> {
  return new Set((text ?? "").split(",").flatMap((id) => (/^\d{1,12}$/.test(id) ? [Number(id)] : [])));
}

/** The address' word once a row is opened or closed. */
export function flippedIn(closed: ReadonlySet<number>, id: number): string | undefined {
  const next = new Set(closed);
  if (!next.delete(id)) next.add(id);
  return [...next].sort((one, other) => one - other).join(",") || undefined;
}

export interface Unfolded<Row> {
  readonly row: Row;
  /** Whether there is anything below it. */
  readonly below: boolean;
}

/** What is not below a closed row. A parent comes before what it calls. */
export function unfolded<Row extends Node>(
  rows: readonly Row[],
  closed: ReadonlySet<number>,
): readonly Unfolded<Row>[] {
  const parents = new Set(rows.map(({ parent }) => parent));
  const hidden = new Set<number>();
  const shown: Unfolded<Row>[] = [];
  for (const row of rows) {
    if (row.parent !== null && (hidden.has(row.parent) || closed.has(row.parent))) hidden.add(row.id);
    else shown.push({ row, below: parents.has(row.id) });
  }
  return shown;
}
