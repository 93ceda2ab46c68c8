// A table of which each row leads somewhere: its first cell has the link, j and k go from row to row, heads sort.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useKeys } from "@/keys/keys";
import { focusRow } from "./focus_row";
import { SortedHead, type Sorting } from "./SortedHead";
import "./table.css";

interface Props<Row> {
  readonly label: string;
  readonly sorting: Sorting<Row>;
  readonly rows: readonly Row[];
  readonly children: (row: Row) => ComponentChildren;
}

export function TableOfRows<Row>({ label, sorting, rows, children }: Props<Row>) {
  const table = useRef<HTMLDivElement>(null);
  const step = (by: 1 | -1) => () => focusRow(table.current, by);
  useKeys(label, [
    { key: "j", what: "next row (Enter opens it)", run: step(1) },
    { key: "k", what: "row before", run: step(-1) },
  ]);
  return (
    <div class="rows" ref={table} role="region" aria-label={label} tabIndex={0}>
      <table>
        <SortedHead of={sorting} />
        <tbody>{sorting.sorted(rows).map(children)}</tbody>
      </table>
    </div>
  );
}
