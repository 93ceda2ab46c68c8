// Order: by which column a table is sorted, and which way; in the address as "p99" (the first way) or "-p99" (the other).
//
// Numbers begin with the greatest, because that is what one looks for; texts with a. What a row does not have goes last,
// whichever way; rows that are equal stay as they came.

type Value = string | number | bigint | undefined;

export interface Column<Row> {
  readonly key: string;
  readonly label: string;
  /** Said by the pointer over the head. */
  readonly title?: string;
  readonly kind?: "number";
  /** As of numbers: a click begins with the greatest. */
  readonly greatestFirst?: true;
  /** What is sorted by; without it the column is not sorted by. */
  readonly value?: (row: Row) => Value;
}

export interface Order {
  readonly key: string;
  readonly rising: boolean;
}

/** What is not understood, or said, is `fallback`. */
export function readOrder<Row>(sort: string | undefined, columns: readonly Column<Row>[], fallback: string): Order {
  const known = (text: string) => columns.find((column) => column.value && column.key === text.replace(/^-/, ""));
  const said = sort !== undefined && known(sort) ? sort : fallback;
  const column = known(said);
  const falls = column?.kind === "number" || column?.greatestFirst === true;
  return { key: said.replace(/^-/, ""), rising: said.startsWith("-") === falls };
}

/** What a click on a column's head makes of the word; undefined: what is so without any word. */
export function nextSort(sort: string | undefined, key: string, fallback: string): string | undefined {
  const next = (sort ?? fallback) === key ? `-${key}` : key;
  return next === fallback ? undefined : next;
}

export function inOrder<Row>(rows: readonly Row[], columns: readonly Column<Row>[], { key, rising }: Order): Row[] {
  const value = columns.find((column) => column.key === key)?.value;
  if (!value) return [...rows];
  const direction = rising ? 1 : -1;
  return rows
    .map((row) => ({ row, by: value(row) }))
    .sort((one, other) => missing(one.by, other.by) || direction * compared(one.by, other.by))
    .map(({ row }) => row);
}

function missing(one: Value, other: Value): number {
  return Number(one === undefined) - Number(other === undefined);
}

const texts = new Intl.Collator(undefined, { numeric: true });

function compared(one: Value, other: Value): number {
  if (typeof one === "string" && typeof other === "string") return texts.compare(one, other);
  return one === other || one === undefined || other === undefined ? 0 : one < other ? -1 : 1;
}
