// Rows: services or operations as the table has them, and in which order.
import type { OperationRow, ServiceRow } from "@/api/generated/answers";

export interface Row {
  readonly key: string;
  readonly name: string;
  /** What stands faintly beside the name: a namespace, a kind. */
  readonly note: string;
  /** Of spans, per second. */
  readonly rate: number;
  readonly errorShare: number;
  readonly p50_nano: number;
  readonly p99_nano: number;
}

export const COLUMNS = [
  ["name", "Name"],
  ["rate", "Rate"],
  ["errorShare", "Errors"],
  ["p50_nano", "p50"],
  ["p99_nano", "p99"],
] as const;
export type Column = (typeof COLUMNS)[number][0];

export interface Order {
  readonly column: Column;
  readonly rising: boolean;
}

/** "rate": the greatest first; "-rate": the smallest first. Names are the other way round. */
export function readOrder(sort: string): Order {
  const column = COLUMNS.find(([name]) => name === sort.replace(/^-/, ""))?.[0] ?? "rate";
  return { column, rising: sort.startsWith("-") !== (column === "name") };
}

/** What a click on a column's head makes of the order. */
export function nextSort(sort: string, column: Column): string {
  return sort === column ? `-${column}` : column;
}

export function sorted<T extends Row>(rows: readonly T[], { column, rising }: Order): T[] {
  const direction = rising ? 1 : -1;
  return [...rows].sort((one, other) => direction * compared(one[column], other[column]) || byName(one, other));
}

function compared(one: string | number, other: string | number): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other));
}

function byName(one: Row, other: Row): number {
  return one.name.localeCompare(other.name) || one.note.localeCompare(other.note);
}

type Measured = Pick<ServiceRow, "spans" | "errors" | "p50_nano" | "p99_nano">;

function figures({ spans, errors, p50_nano, p99_nano }: Measured, seconds: number) {
  return {
    rate: seconds > 0 ? spans / seconds : 0,
    errorShare: spans > 0 ? errors / spans : 0,
    p50_nano,
    p99_nano,
  };
}

export function serviceRows(services: readonly ServiceRow[], seconds: number): Row[] {
  return services.map((row) => ({
    ...{ key: `${row.service_namespace}/${row.service}`, name: row.service, note: row.service_namespace },
    ...figures(row, seconds),
  }));
}

export function operationRows(operations: readonly OperationRow[], seconds: number): Row[] {
  return operations.map((row) => ({
    key: `${row.service_namespace}/${row.service}/${row.kind}/${row.operation}`,
    name: row.operation,
    note: row.kind === "unspecified" ? "" : row.kind,
    ...figures(row, seconds),
  }));
}
