// Services, or the operations of the chosen one, with rate, errors and percentiles; a click narrows.
import { Name } from "@/parts/Name";
import { Problem, Waiting } from "@/parts/Problem";
import { formatRate, formatShare } from "@/parts/figures";
import { formatDuration } from "@/time/nano";
import type { Show } from "./Explorer";
import type { Lists } from "./lists";
import { COLUMNS, nextSort, operationRows, readOrder, serviceRows, sorted, type Column, type Row } from "./rows";
import type { Words } from "./words";

interface Props {
  readonly words: Words;
  readonly show: Show;
  readonly lists: Lists;
}

export function ServiceTable({ words, show, lists }: Props) {
  const { services, operations, seconds, error, again } = lists;
  const narrowed = words.service !== "";
  const rows = narrowed ? operations && operationRows(operations, seconds) : services && serviceRows(services, seconds);
  const choose = ({ name }: Row): void =>
    show(
      narrowed
        ? { ...words, operation: words.operation === name ? "" : name }
        : { ...words, service: name, operation: "" },
    );
  return (
    <section class="explore-table explore-side" aria-label={narrowed ? `Operations of ${words.service}` : "Services"}>
      <div class="explore-head">
        <h2>{narrowed ? `Operations of ${words.service}` : "Services"}</h2>
        {(words.where.length > 0 || words.errors) && <span class="faint">of all spans, whatever the conditions</span>}
        {narrowed && (
          <span class="explore-actions">
            <button onClick={() => show({ ...words, service: "", operation: "" })}>All services</button>
          </span>
        )}
      </div>
      {error && <Problem error={error} again={again} />}
      {!rows && !error && <Waiting what="Asking" />}
      {rows && <Table {...{ rows, words, show, choose, current: narrowed ? words.operation : words.service }} />}
    </section>
  );
}

interface TableProps {
  readonly rows: readonly Row[];
  readonly words: Words;
  readonly show: Show;
  readonly choose: (row: Row) => void;
  readonly current: string;
}

function Table({ rows, words, show, choose, current }: TableProps) {
  const order = readOrder(words.sort);
  const slowest = Math.max(...rows.map((row) => row.p99_nano), 1);
  const head = (column: Column, label: string) => (
    <th
      key={column}
      class={column === "name" ? "" : "number"}
      aria-sort={order.column === column ? (order.rising ? "ascending" : "descending") : undefined}
    >
      <button class="plain" onClick={() => show({ ...words, sort: nextSort(words.sort, column) }, "replace")}>
        {label}
        <span aria-hidden="true">{order.column === column ? (order.rising ? " ↑" : " ↓") : ""}</span>
      </button>
    </th>
  );
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="rates and durations">
      <table>
        <thead>
          <tr>{COLUMNS.map(([column, label]) => head(column, label))}</tr>
        </thead>
        <tbody>
          {sorted(rows, order).map((row) => (
            <tr key={row.key} aria-current={row.name === current ? "true" : undefined}>
              <td class="named">
                <span>
                  <button class="plain" onClick={() => choose(row)}>
                    <Name text={row.name} />
                  </button>
                  {row.note && <span class="faint">{row.note}</span>}
                </span>
              </td>
              <td class="number">{formatRate(row.rate)}</td>
              <td class={`number ${row.errorShare >= 0.01 ? "bad" : row.errorShare > 0 ? "" : "faint"}`}>
                {formatShare(row.errorShare)}
              </td>
              <td class="number">{formatDuration(row.p50_nano)}</td>
              <td class="number barred" style={{ "--share": String(row.p99_nano / slowest) }}>
                {formatDuration(row.p99_nano)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
