// Services: who calls whom, drawn and as a table.
import { useMemo, useState } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import type { GraphAnswer } from "@/api/generated/answers";
import { formatCount } from "@/parts/figures";
import { Problem, Waiting } from "@/parts/Problem";
import { RangePicker } from "@/parts/RangePicker";
import { go } from "@/state/navigation";
import { formatPlace, withQuery, type Place } from "@/state/place";
import { lengthNano, rangeParams, rangeWords, readRange } from "@/time/range";
import { callsOf } from "./calls";
import { CallTable } from "./CallTable";
import { Graph } from "./Graph";
import "./services.css";

/** What the pointer or the keyboard is at: a service's name, or a call's key. */
export interface Focus {
  readonly service?: string;
  readonly call?: string;
}

const NO_RANGE = { since: undefined, from: undefined, to: undefined };

export function Services({ place }: { place: Place }) {
  const range = useMemo(() => readRange(place.query), [place]);
  const zone = place.query["zone"] === "utc" ? "utc" : "local";
  const { data, error, again, stale } = useAnswer<GraphAnswer>("graph", rangeParams(range));
  const calls = useMemo(() => data && callsOf(data, lengthNano(range) / 1e9), [data, range]);
  const [focus, setFocus] = useState<Focus>({});
  const explore = (service: string): string =>
    formatPlace({ view: "explore", query: { ...rangeWords(range), ...(zone === "utc" && { zone }), service } });
  return (
    <>
      <div class="services-head">
        <h1>Services</h1>
        <RangePicker
          range={range}
          zone={zone}
          chooseRange={(next) => go(withQuery(place, { ...NO_RANGE, ...rangeWords(next) }))}
          chooseZone={(next) => go(withQuery(place, { zone: next === "utc" ? "utc" : undefined }))}
        />
        {data && <Sample answer={data} />}
      </div>
      {error && <Problem error={error} again={again} />}
      {!data && !error && <Waiting what="Asking who calls whom" />}
      {calls?.services.length === 0 && <p class="faint">No spans were started in this range. Choose a longer one.</p>}
      {calls && calls.services.length > 0 && (
        <div data-busy={stale}>
          <Graph {...{ calls, focus, setFocus, explore }} />
          <CallTable {...{ calls: calls.calls, place, focus, setFocus, explore }} />
        </div>
      )}
    </>
  );
}

function Sample({ answer: { traces, traces_looked_at } }: { answer: GraphAnswer }) {
  const what = "rate, errors (where there are any) and p99 · ";
  const all = traces_looked_at >= traces;
  return (
    <span class="faint">
      {what}
      {all
        ? `of ${formatCount(traces)} traces`
        : `calls are estimated from ${formatCount(traces_looked_at)} of ${formatCount(traces)} traces`}
    </span>
  );
}
