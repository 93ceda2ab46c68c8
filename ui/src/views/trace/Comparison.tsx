// Two traces by their paths of operations: what only one of them has, and where one took longer.
import { useMemo, useState } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import type { TraceAnswer } from "@/api/generated/answers";
import { colorsOf } from "@/draw/service_color";
import { useKeys } from "@/keys/keys";
import { Problem, Waiting } from "@/parts/Problem";
import { go } from "@/state/navigation";
import { formatPlace, withQuery, type Place } from "@/state/place";
import { formatDuration, formatInstant } from "@/time/nano";
import { compareTraces, ordered, type Compared, type Order } from "./compare";
import { ComparedTable } from "./ComparedTable";
import { makeModel, nameOf, titleSpan, type TraceModel } from "./model";
import { saidOtherwise } from "./said";

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

/** The address' word for usual ones, instead of another trace's id. */
export const USUAL = "usual";

export type ToldModel = TraceModel;

export function Comparison({ place, answer, otherId }: Props) {
  const other = useAnswer<TraceAnswer>(`traces/${encodeURIComponent(otherId)}`);
  const one = useTold(answer);
  return (
    <>
      <CompareHead place={place} title="Compared with another trace" />
      {other.error && <Problem error={other.error} again={other.again} />}
      {!other.data && !other.error && <Waiting what="Asking for the other trace" />}
      {other.data && <Compare place={place} first={one} other={other.data} />}
    </>
  );
}

export function CompareHead({ place, title }: { place: Place; title: string }) {
  const alone = aloneOf(place);
  useKeys("Comparison", [{ key: "Escape", what: "the first trace alone", run: () => go(alone) }]);
  return (
    <div class="compare-head">
      <h1>
        {title} <a href={formatPlace(alone)}>Back to the first alone</a>
      </h1>
      <OtherChoice place={place} />
    </div>
  );
}

/** As it is copied from elsewhere, whole or its beginning. */
const TRACE_ID = /^[0-9a-f]{8,32}$/i;

function OtherChoice({ place }: { place: Place }) {
  const [typed, setTyped] = useState("");
  const id = typed.trim();
  const compare = (event: Event) => {
    event.preventDefault();
    if (TRACE_ID.test(id)) go(withQuery(place, { compare: id.toLowerCase() }));
  };
  return (
    <form onSubmit={compare}>
      <label>
        with{" "}
        <input
          value={typed}
          size={34}
          placeholder="another trace’s id, or its first 8 digits"
          aria-invalid={id !== "" && !TRACE_ID.test(id)}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>{" "}
      <button disabled={!TRACE_ID.test(id)}>Compare</button>
    </form>
  );
}

function aloneOf(place: Place): Place {
  return withQuery(place, { compare: undefined, order: undefined });
}

function Compare({ place, first, other }: { place: Place; first: TraceModel; other: TraceAnswer }) {
  const second = useTold(other);
  const rows = useMemo(() => compareTraces(first, second), [first, second]);
  const others = useMemo(() => [second], [second]);
  return (
    <>
      <Sides first={first} second={second} alone={aloneOf(place)} />
      <Ordered place={place} rows={rows} one={first} others={others} />
    </>
  );
}

interface OrderedProps {
  readonly place: Place;
  readonly rows: readonly Compared[];
  readonly one: TraceModel;
  readonly others: readonly TraceModel[];
  readonly usual?: number;
}

/** The table, and the choice of its order. */
export function Ordered({ place, rows, one, others, usual }: OrderedProps) {
  const order = ORDERS.find(([name]) => name === place.query["order"])?.[0] ?? "path";
  const shown = useMemo(() => ordered(rows, order), [rows, order]);
  const colors = useMemo(() => colorsOf(rows.map(({ service }) => service)), [rows]);
  const said = useMemo(() => saidOtherwise(one, others, greatestOf(rows)), [rows, one, others]);
  const change = (to: Order) => go(withQuery(place, { order: to === "path" ? undefined : to }), "replace");
  useKeys("Order", [
    { key: "p", what: "by time on the critical path", run: () => change("path") },
    { key: "s", what: "by self time", run: () => change("self") },
    { key: "t", what: "as the trees have them", run: () => change("tree") },
  ]);
  return (
    <>
      <div class="trace-toolbar" role="toolbar" aria-label="Order">
        {ORDERS.map(([name, text]) => (
          <button key={name} aria-pressed={order === name} onClick={() => change(name)}>
            {name === "tree" ? text : `${text}, greatest difference first`}
          </button>
        ))}
      </div>
      <ComparedTable
        rows={shown.slice(0, MOST_SHOWN)}
        {...{ order, colors, said }}
        {...(usual !== undefined && { usual })}
      />
      {shown.length > MOST_SHOWN && <p class="faint">and {shown.length - MOST_SHOWN} paths that differ less</p>}
    </>
  );
}

const MOST_SAID = 12;

/** The paths that both have and that differ most, by either time: of these it is told what their spans say. */
function greatestOf(rows: readonly Compared[]): ReadonlySet<string> {
  const both = rows.filter(({ onlyIn }) => !onlyIn);
  const some = (["path", "self"] as const).flatMap((order) => ordered(both, order).slice(0, MOST_SAID));
  return new Set(some.map(({ key }) => key));
}

export function useTold(answer: TraceAnswer): TraceModel {
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
      <span>
        <a href={href}>{title ? nameOf(title) : model.answer.trace_id}</a>{" "}
        {title && <span class="faint">{title.service}</span>}
      </span>
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
