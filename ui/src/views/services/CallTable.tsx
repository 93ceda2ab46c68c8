// The graph's edges as a table: for those who read rather than look, and to sort by what hurts.
import { useRef } from "preact/hooks";
import { useKeys } from "@/keys/keys";
import { formatRate, formatShare } from "@/parts/figures";
import { focusRow } from "@/parts/focus_row";
import { go } from "@/state/navigation";
import { withQuery, type Place } from "@/state/place";
import { formatDuration } from "@/time/nano";
import { COLUMNS, inOrder, readOrder, type Call, type Column } from "./calls";
import type { Focus } from "./Services";

interface Props {
  readonly calls: readonly Call[];
  readonly place: Place;
  readonly focus: Focus;
  readonly setFocus: (focus: Focus) => void;
  readonly explore: (service: string) => string;
}

export function CallTable({ calls, place, focus, setFocus, explore }: Props) {
  const sort = place.query["sort"] ?? "rate";
  const order = readOrder(sort);
  const body = useRef<HTMLTableSectionElement>(null);
  useKeys("Calls", [
    { key: "j", what: "next call; Enter explores the callee", run: () => focusRow(body.current, 1) },
    { key: "k", what: "call before", run: () => focusRow(body.current, -1) },
  ]);
  const by = (column: Column) => () => {
    const next = sort === column ? `-${column}` : column;
    go(withQuery(place, { sort: next === "rate" ? undefined : next }), "replace");
  };
  if (calls.length === 0) return <p class="faint">No service called another one in this range.</p>;
  return (
    <table class="calls">
      <caption class="visually-hidden">Calls between services; p99 and p50 are of the callee's spans</caption>
      <thead>
        <tr>
          {COLUMNS.map(([column, label]) => (
            <th
              key={column}
              class={column === "from" || column === "to" ? "" : "number"}
              aria-sort={order.column === column ? (order.rising ? "ascending" : "descending") : undefined}
            >
              <button class="plain" onClick={by(column)}>
                {label}
                <span aria-hidden="true">{order.column === column ? (order.rising ? " ↑" : " ↓") : ""}</span>
              </button>
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        {inOrder(calls, order).map((call) => (
          <tr
            key={call.key}
            data-near={focus.call === call.key || [call.from, call.to].includes(focus.service ?? "")}
            onPointerEnter={() => setFocus({ call: call.key })}
            onPointerLeave={() => setFocus({})}
            onFocusIn={() => setFocus({ call: call.key })}
            onFocusOut={() => setFocus({})}
          >
            <td>{call.from}</td>
            <td>
              <a href={explore(call.service)}>{call.to}</a>
            </td>
            <td class="number">{formatRate(call.rate)}</td>
            <td class={`number ${call.errorShare >= 0.01 ? "bad" : ""}`}>{formatShare(call.errorShare)}</td>
            <td class="number">{formatDuration(call.p50_nano)}</td>
            <td class="number">{formatDuration(call.p99_nano)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
