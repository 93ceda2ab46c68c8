// Services: who calls whom, drawn and as a table.
import { useMemo } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import type { GraphAnswer } from "@/api/generated/answers";
import { formatCount } from "@/parts/figures";
import { FollowButton, followOf } from "@/parts/Filters";
import { Problem, Waiting } from "@/parts/Problem";
import { RangePicker } from "@/parts/RangePicker";
import { go } from "@/state/navigation";
import { formatPlace, withQuery, type Place } from "@/state/place";
import { isBetween, rangeParams, rangeWords, readRange } from "@/time/range";
import { callsOf, spansOf, type Calls } from "./calls";
import { CallTable } from "./CallTable";
import { focusing } from "./focus";
import { Graph } from "./Graph";
import { drawnOf, type Drawn } from "./neighbourhood";
import "./services.css";

// A graph costs a server more than a list.
const FOLLOW_MILLISECONDS = 5000;
const NO_RANGE = { since: undefined, from: undefined, to: undefined };

export function Services({ place }: { place: Place }) {
  const range = useMemo(() => readRange(place.query), [place]);
  const zone = place.query["zone"] === "utc" ? "utc" : "local";
  const every = isBetween(range) ? 0 : followOf(place, FOLLOW_MILLISECONDS);
  const { data, error, again, stale } = useAnswer<GraphAnswer>("graph", rangeParams(range), every);
  const calls = useMemo(() => data && callsOf(data), [data]);
  return (
    <>
      <div class="services-head">
        <h1>Services</h1>
        <RangePicker
          range={range}
          zone={zone}
          chooseRange={(next) => go(withQuery(place, { ...NO_RANGE, ...rangeWords(next) }))}
          chooseZone={(next) => go(withQuery(place, { zone: next === "utc" ? "utc" : undefined }))}
        >
          {!isBetween(range) && <FollowButton place={place} />}
        </RangePicker>
        {data && <Sample answer={data} />}
      </div>
      {error && <Problem error={error} again={again} />}
      {!data && !error && <Waiting what="Asking who calls whom" />}
      {calls?.services.length === 0 && <p class="faint">No spans were started in this range. Choose a longer one.</p>}
      {calls && calls.services.length > 0 && (
        <div data-busy={stale}>
          <Shown {...{ calls, place }} words={{ ...rangeWords(range), ...(zone === "utc" && { zone }) }} />
        </div>
      )}
    </>
  );
}

/** The service that was looked at in the view before. */
function nameOf({ services }: Calls, chosen: string | undefined): string | undefined {
  return services.find(({ service }) => service === chosen)?.name;
}

interface ShownProps {
  readonly calls: Calls;
  readonly place: Place;
  /** Of the range, for whoever goes on from here. */
  readonly words: Readonly<Record<string, string>>;
}

function Shown({ calls, place, words }: ShownProps) {
  const at = place.query["at"] ?? nameOf(calls, place.query["service"]);
  const shown = useMemo(() => drawnOf(calls, at), [calls, at]);
  const focus = useMemo(focusing, [calls]);
  const addresses = useMemo(
    () =>
      new Map(
        calls.services.map((node) => [
          node.name,
          formatPlace({ view: "explore", query: { ...words, ...spansOf(node, calls.services) } }),
        ]),
      ),
    [calls, JSON.stringify(words)],
  );
  const explore = (name: string): string => addresses.get(name) ?? "/";
  return (
    <>
      <Legend all={calls} shown={shown} place={place} />
      <Graph calls={shown} {...{ focus, explore, place }} />
      <CallTable calls={calls.calls} {...{ focus, explore }} />
    </>
  );
}

function Sample({ answer: { traces, traces_looked_at, failed_unplaced } }: { answer: GraphAnswer }) {
  return (
    <span class="faint">
      {traces_looked_at >= traces
        ? `of ${formatCount(traces)} traces`
        : `calls are estimated from ${formatCount(traces_looked_at)} of ${formatCount(traces)} traces`}
      {failed_unplaced > 0 && ` · ${formatCount(failed_unplaced)} failed calls reached nobody who sends spans`}
    </span>
  );
}

/** What the figures are, and of many services which one is in the middle. */
function Legend({ all, shown, place }: { all: Calls; shown: Drawn; place: Place }) {
  const names = useMemo(() => all.services.map(({ name }) => name).sort(), [all]);
  const choose = (name: string) => go(withQuery(place, { at: name }));
  return (
    <p class="services-legend faint">
      {shown.centre !== undefined && (
        <label>
          {formatCount(names.length)} services; drawn are those around{" "}
          <select value={shown.centre} onChange={(event) => choose(event.currentTarget.value)}>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          {shown.hidden > 0 && ` (${formatCount(shown.hidden)} more beside it are in the table)`}.{" "}
        </label>
      )}
      In a box: spans of every kind, errors (where there are any), p99. On a line: calls, errors, p99 of the callee.{" "}
      {shown.centre === undefined
        ? "A click explores the service."
        : "A click draws what is around it, one in the middle explores it."}
    </p>
  );
}
