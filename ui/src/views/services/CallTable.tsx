// The graph's edges as a table: for those who read rather than look, and to sort by what hurts.
import { useComputed } from "@preact/signals";
import { useMemo, useRef, useState } from "preact/hooks";
import { useKeys } from "@/keys/keys";
import { formatCount, formatRate, formatShare } from "@/parts/figures";
import { focusRow } from "@/parts/focus_row";
import { SortedHead, useSorting } from "@/parts/SortedHead";
import { useResting } from "@/state/resting";
import { formatDuration } from "@/time/nano";
import { callsNamed, COLUMNS, type Call } from "./calls";
import { isNearCall, type Focusing } from "./focus";

interface Props {
  readonly calls: readonly Call[];
  readonly focus: Focusing;
  readonly explore: (service: string) => string;
}

// More rows than that take a browser longer than one waits; they come when they are asked for.
const MOST_ROWS = 300;

export function CallTable({ calls, focus, explore }: Props) {
  const [find, setFind] = useResting(
    "find",
    (text) => text ?? "",
    (text) => text || undefined,
  );
  const [whole, setWhole] = useState(false);
  const body = useRef<HTMLTableSectionElement>(null);
  const sorting = useSorting(COLUMNS, "rate");
  const { key, rising } = sorting.order;
  const found = useMemo(() => sorting.sorted(callsNamed(calls, find)), [calls, find, key, rising]);
  const shown = whole ? found : found.slice(0, MOST_ROWS);
  useKeys("Calls", [
    { key: "j", what: "next call; Enter explores the callee", run: () => focusRow(body.current, 1) },
    { key: "k", what: "call before", run: () => focusRow(body.current, -1) },
  ]);
  if (calls.length === 0) return <p class="faint">No service called another one in this range.</p>;
  return (
    <>
      <Find {...{ find, setFind }} shown={found.length} all={calls.length} />
      <div class="calls-scroll" tabIndex={0} role="region" aria-label="Calls">
        <table class="calls">
          <caption class="visually-hidden">Calls between services; p99 and p50 are of the callee's spans</caption>
          <SortedHead of={sorting} />
          <tbody ref={body}>
            {shown.map((call) => (
              <Row key={call.key} {...{ call, focus, explore }} />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < found.length && (
        <button class="list-more" onClick={() => setWhole(true)}>
          All {formatCount(found.length)}
        </button>
      )}
    </>
  );
}

interface FindProps {
  readonly find: string;
  readonly setFind: (next: () => string) => void;
  readonly shown: number;
  readonly all: number;
}

function Find({ find, setFind, shown, all }: FindProps) {
  const field = useRef<HTMLInputElement>(null);
  useKeys("Calls", [{ key: "/", what: "filter calls by a service's name", run: () => field.current?.focus() }]);
  return (
    <p class="calls-find">
      <label>
        Calls of{" "}
        <input
          ref={field}
          type="search"
          value={find}
          placeholder="any service"
          onInput={(event) => {
            const text = event.currentTarget.value;
            setFind(() => text);
          }}
        />
      </label>{" "}
      <span class="faint" role="status">
        {shown === all ? formatCount(all) : `${formatCount(shown)} of ${formatCount(all)}`}
      </span>
    </p>
  );
}

interface RowProps extends Pick<Props, "focus" | "explore"> {
  readonly call: Call;
}

function Row({ call, focus, explore }: RowProps) {
  const near = useComputed(() => isNearCall(focus.focus.value, call));
  return (
    <tr
      data-near={near}
      onPointerEnter={focus.at({ call })}
      onPointerLeave={focus.leave}
      onFocusIn={focus.at({ call })}
      onFocusOut={focus.leave}
    >
      <td>
        <a href={explore(call.from)} title={call.from}>
          {call.from}
        </a>
      </td>
      <td>
        <a href={explore(call.to)} title={call.to} data-row>
          {call.to}
        </a>
      </td>
      <td class="number">{formatRate(call.rate)}</td>
      <td class={`number ${call.errorShare >= 0.01 ? "bad" : ""}`}>{formatShare(call.errorShare)}</td>
      <td class="number">{formatDuration(call.p50_nano)}</td>
      <td class="number">{formatDuration(call.p99_nano)}</td>
    </tr>
  );
}
