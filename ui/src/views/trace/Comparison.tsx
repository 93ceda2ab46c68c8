// Two traces by their paths of operations: what only one of them has, and where one took longer.
import { useMemo } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import type { TraceAnswer } from "@/api/generated/answers";
import { colorsOf, type ServiceColors } from "@/draw/service_color";
import { useKeys } from "@/keys/keys";
import { Problem, Waiting } from "@/parts/Problem";
import { isDark } from "@/state/appearance";
import { go } from "@/state/navigation";
import { formatPlace, withQuery, type Place } from "@/state/place";
import { formatDuration, formatInstant } from "@/time/nano";
import { compareTraces, ordered, pathOf, type Amount, type Compared, type Order } from "./compare";
import { makeModel, nameOf, titleSpan, type TraceModel } from "./model";

interface Props {
  readonly place: Place;
  readonly answer: TraceAnswer;
  readonly otherId: string;
}

const ORDERS: readonly (readonly [Order, string])[] = [
  ["path", "Critical path"],
  ["self", "Self time"],
  ["tree", "Tree"],
];

/** More rows tell nobody anything; the greatest differences are first. */
const MOST_SHOWN = 500;

export function Comparison({ place, answer, otherId }: Props) {
  const other = useAnswer<TraceAnswer>(`traces/${encodeURIComponent(otherId)}`);
  const alone = withQuery(place, { compare: undefined, order: undefined });
  useKeys("Comparison", [{ key: "Escape", what: "the first trace alone", run: () => go(alone) }]);
  return (
    <>
      {other.error && <Problem error={other.error} again={other.again} />}
      {!other.data && !other.error && <Waiting what="Asking for the other trace" />}
      {other.data && <Compare place={place} one={answer} other={other.data} alone={alone} />}
    </>
  );
}

function Compare({ place, one, other, alone }: { place: Place; one: TraceAnswer; other: TraceAnswer; alone: Place }) {
  const [first, second] = [useModel(one), useModel(other)];
  const rows = useMemo(() => compareTraces(first, second), [first, second]);
  const order = ORDERS.find(([name]) => name === place.query["order"])?.[0] ?? "path";
  const shown = useMemo(() => ordered(rows, order), [rows, order]);
  const colors = useMemo(() => colorsOf(rows.map(({ service }) => service)), [rows]);
  const change = (to: Order) => go(withQuery(place, { order: to === "path" ? undefined : to }), "replace");
  useKeys("Order", [
    { key: "p", what: "by time on the critical path", run: () => change("path") },
    { key: "s", what: "by self time", run: () => change("self") },
    { key: "t", what: "as the trees have them", run: () => change("tree") },
  ]);
  return (
    <>
      <h1>
        Compared with another trace <a href={formatPlace(alone)}>Back to the first alone</a>
      </h1>
      <Sides first={first} second={second} alone={alone} />
      <div class="trace-toolbar" role="toolbar" aria-label="Order">
        {ORDERS.map(([name, text]) => (
          <button key={name} aria-pressed={order === name} onClick={() => change(name)}>
            {name === "tree" ? text : `${text}, greatest difference first`}
          </button>
        ))}
      </div>
      <Table rows={shown.slice(0, MOST_SHOWN)} order={order} colors={colors} />
      {shown.length > MOST_SHOWN && <p class="faint">and {shown.length - MOST_SHOWN} paths that differ less</p>}
    </>
  );
}

function useModel(answer: TraceAnswer): TraceModel {
  return useMemo(() => makeModel(answer, "corrected"), [answer]);
}

function Sides({ first, second, alone }: { first: TraceModel; second: TraceModel; alone: Place }) {
  const longest = Math.max(first.path.totalNano, second.path.totalNano, 1);
  const by = first.path.totalNano - second.path.totalNano;
  return (
    <div class="sides">
      <SideRow model={first} name="This" longest={longest} href={formatPlace(alone)} />
      <SideRow
        model={second}
        name="Other"
        longest={longest}
        href={formatPlace({ view: "trace", id: second.answer.trace_id, query: {} })}
      />
      <p>
        This one took <b class={by > 0 ? "critical" : ""}>{formatDuration(Math.abs(by))}</b>{" "}
        {by >= 0 ? "longer" : "less"}. Differences on the critical path add up to that.
      </p>
    </div>
  );
}

function SideRow({ model, name, longest, href }: { model: TraceModel; name: string; longest: number; href: string }) {
  const title = titleSpan(model);
  return (
    <div class="side">
      <span>{name}</span>
      <a href={href}>{title ? `${nameOf(title)} ${title.service}` : model.answer.trace_id}</a>
      <span class="faint">
        {model.answer.spans.length} spans, {formatInstant(model.tree.originNano, 3)}
      </span>
      <span class="side-bar">
        <i style={{ width: `${(model.path.totalNano / longest) * 100}%` }} />
        <b>{formatDuration(model.path.totalNano)}</b>
      </span>
    </div>
  );
}

interface TableProps {
  readonly rows: readonly Compared[];
  readonly order: Order;
  readonly colors: ServiceColors;
}

function Table({ rows, order, colors }: TableProps) {
  const by = (row: Compared) => (order === "self" ? row.selfNano : row.pathNano);
  const greatest = rows.reduce((most, row) => Math.max(most, Math.abs(by(row))), 1);
  return (
    <div class="compared-scroll" tabIndex={0} data-scrolls role="region" aria-label="Differences">
      <table class="compared">
        <thead>
          <tr>
            <th scope="col">Operation</th>
            <th scope="col">{order === "self" ? "Self time here" : "On the critical path here"}</th>
            <th scope="col" class="number">
              On the path
            </th>
            <th scope="col" class="number">
              Self time
            </th>
            <th scope="col" class="number">
              Spans
            </th>
            <th scope="col" class="number">
              Errors
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <ComparedRow key={row.key} {...{ row, greatest, colors }} nano={by(row)} inTree={order === "tree"} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly row: Compared;
  readonly nano: number;
  readonly greatest: number;
  readonly colors: ServiceColors;
  readonly inTree: boolean;
}

function ComparedRow({ row, nano, greatest, colors, inTree }: RowProps) {
  const above = pathOf(row).slice(0, -1);
  const indent = inTree ? { paddingLeft: `${0.6 + Math.min(row.depth, 24)}rem` } : {};
  return (
    <tr class={nano === 0 && !row.onlyIn ? "same" : ""}>
      <td style={indent}>
        {row.operation !== "" && <i class="chip" style={{ background: colors(row.service, isDark.value) }} />}
        {row.operation || "a parent that is not stored"} <span class="faint">{row.service}</span>{" "}
        {row.onlyIn && <span class="tag warn">{row.onlyIn === "one" ? "only here" : "only in the other"}</span>}
        {!inTree && above.length > 0 && (
          <div class="faint above" title={above.join(" › ")}>
            {above.slice(-2).join(" › ")}
          </div>
        )}
      </td>
      <td>
        <Difference nano={nano} greatest={greatest} />
      </td>
      <Pair row={row} text={(amount) => formatDuration(amount.pathNano)} />
      <Pair row={row} text={(amount) => formatDuration(amount.selfNano)} />
      <Pair row={row} text={(amount) => amount.spans.toString()} />
      <Pair row={row} text={(amount) => amount.errors.toString()} />
    </tr>
  );
}

function Difference({ nano, greatest }: { nano: number; greatest: number }) {
  const width = `${(Math.abs(nano) / greatest) * 50}%`;
  return (
    <span class="difference">
      <i class={nano > 0 ? "more" : "less"} style={nano > 0 ? { left: "50%", width } : { right: "50%", width }} />
      <span class={nano > 0 ? "before" : "behind"}>
        {nano === 0 ? "" : `${nano > 0 ? "+" : ""}${formatDuration(nano)}`}
      </span>
    </span>
  );
}

/** This one's, and the other's where it is another. */
function Pair({ row, text }: { row: Compared; text: (amount: Amount) => string }) {
  const [one, other] = [text(row.one), text(row.other)];
  return (
    <td class="number">
      {row.onlyIn === "other" ? "–" : one}
      {(row.onlyIn || one !== other) && <span class="faint"> | {row.onlyIn === "one" ? "–" : other}</span>}
    </td>
  );
}
