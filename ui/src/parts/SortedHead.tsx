// A table's head that one sorts by: the column that is sorted by, and which way, is seen and in the address.
import { go, place } from "@/state/navigation";
import { withQuery } from "@/state/place";
import { inOrder, nextSort, readOrder, type Column, type Order } from "./order";

export interface Sorting<Row> {
  readonly columns: readonly Column<Row>[];
  readonly order: Order;
  readonly choose: (key: string) => void;
  readonly sorted: (rows: readonly Row[]) => Row[];
}

/** The order that the address says under `word`. */
export function useSorting<Row>(columns: readonly Column<Row>[], fallback: string, word = "sort"): Sorting<Row> {
  const said = place.value?.query[word];
  const order = readOrder(said, columns, fallback);
  const choose = (key: string) => {
    if (place.value) go(withQuery(place.value, { [word]: nextSort(said, key, fallback) }), "replace");
  };
  return { columns, order, choose, sorted: (rows) => inOrder(rows, columns, order) };
}

export function SortedHead<Row>({ of: { columns, order, choose } }: { of: Sorting<Row> }) {
  return (
    <thead>
      <tr>
        {columns.map(({ key, label, title, kind, value }) => {
          const chosen = order.key === key;
          return (
            <th
              key={key}
              scope="col"
              class={kind ?? ""}
              title={title}
              aria-sort={chosen ? (order.rising ? "ascending" : "descending") : undefined}
            >
              {value ? (
                <button class="plain" onClick={() => choose(key)}>
                  {label}
                  <span aria-hidden="true">{chosen ? (order.rising ? " ↑" : " ↓") : ""}</span>
                </button>
              ) : (
                label
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
