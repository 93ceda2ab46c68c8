// The captures that there are: which, why, and what of.
import { useState } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import type { CaptureRow, CapturesAnswer } from "@/api/generated/answers";
import { useKeys } from "@/keys/keys";
import { formatBytes, formatCount } from "@/parts/figures";
import { ChoiceFilter, FollowButton, followOf, TextFilter } from "@/parts/Filters";
import type { Column } from "@/parts/order";
import { usePages, type Pages } from "@/parts/pages";
import { Problem, Waiting } from "@/parts/Problem";
import { RangePicker } from "@/parts/RangePicker";
import { useSorting } from "@/parts/SortedHead";
import { TableOfRows } from "@/parts/TableOfRows";
import { go } from "@/state/navigation";
import { formatPlace, withQuery, type Place } from "@/state/place";
import { formatInstant, type Zone } from "@/time/nano";
import { isBetween, rangeWords, type Range } from "@/time/range";
import {
  countsOf,
  doubtsOf,
  durationOf,
  lastingAtLeast,
  questionOf,
  rangeOf,
  reasonOf,
  TRIGGERS,
  windowText,
} from "./captures";

const COLUMNS: readonly Column<CaptureRow>[] = [
  { key: "begin", label: "Window begins", greatestFirst: true, value: (row) => BigInt(row.start_time_unix_nano) },
  { key: "trigger", label: "Trigger", value: ({ trigger }) => trigger },
  { key: "service", label: "Service", value: ({ service }) => service },
  { key: "operation", label: "Operation", value: reasonOf },
  { key: "process", label: "Process", value: ({ host_name, pid }) => `${host_name} ${pid}` },
  { key: "window", label: "Window", kind: "number", value: durationOf },
  { key: "size", label: "Size", kind: "number", value: ({ size_bytes }) => size_bytes },
  { key: "trace", label: "Trace", value: ({ trace_id }) => trace_id || undefined },
  { key: "doubts", label: "Doubts" },
];

const LEAST_WINDOWS: readonly (readonly [string, string])[] = [
  ["", "any"],
  ["10ms", "10 ms or more"],
  ["100ms", "100 ms or more"],
  ["1s", "1 s or more"],
];

// More rows than that at once are not read, and take a browser a while.
const FIRST_ROWS = 200;

export function CapturesView({ place }: { place: Place }) {
  const zone = place.query["zone"] === "utc" ? "utc" : "local";
  const sorting = useSorting(COLUMNS, "begin");
  const [most, setMost] = useState(FIRST_ROWS);
  const pages = usePages<CapturesAnswer, CaptureRow>(
    "captures",
    questionOf(place),
    (answer) => answer.captures,
    (row) => row.id,
    followOf(place),
  );
  const rows = pages.rows && lastingAtLeast(pages.rows, place.query["window"]);
  const shown = rows && sorting.sorted(rows).slice(0, most);
  const further = rows && rows.length > most ? () => setMost(most + FIRST_ROWS) : pages.more;
  return (
    <>
      <Head place={place} zone={zone} />
      <Triggers place={place} pages={pages} />
      {pages.error && <Problem error={pages.error} again={pages.again} />}
      {!rows && !pages.error && <Waiting what="Looking for captures" />}
      {rows && rows.length === 0 && <Nothing />}
      {shown && shown.length > 0 && (
        <TableOfRows label="Captures" sorting={sorting} rows={shown}>
          {(row) => <Row key={row.id} row={row} zone={zone} />}
        </TableOfRows>
      )}
      {further && (
        <button class="list-more" onClick={further}>
          More
        </button>
      )}
    </>
  );
}

const NO_RANGE = { since: undefined, from: undefined, to: undefined };

function Head({ place, zone }: { place: Place; zone: Zone }) {
  const trace = place.query["trace_id"];
  const range = rangeOf(place.query);
  // An hour is said as well: without a word it is the last day.
  const chooseRange = (next: Range) =>
    go(withQuery(place, { ...NO_RANGE, ...(isBetween(next) ? rangeWords(next) : { since: next.since }) }));
  return (
    <>
      <div class="list-range">
        <h1>Captures</h1>
        {range && (
          <RangePicker
            range={range}
            zone={zone}
            chooseRange={chooseRange}
            chooseZone={(next) => go(withQuery(place, { zone: next === "utc" ? "utc" : undefined }))}
          />
        )}
      </div>
      <div class="list-head">
        <TextFilter place={place} name="service" label="Service" first />
        <ChoiceFilter place={place} name="window" label="Window" choices={LEAST_WINDOWS} />
        <FollowButton place={place} />
        {trace && (
          <span>
            of trace <span class="mono">{trace.slice(0, 8)}</span>
            {!range && ", of any time"}
            {" · "}
            <a href={formatPlace(withQuery(place, { trace_id: undefined }))}>of all</a>
          </span>
        )}
      </div>
    </>
  );
}

/** One click from all errors to the few slow ones. */
function Triggers({ place, pages }: { place: Place; pages: Pages<CaptureRow> }) {
  const chosen = place.query["trigger"] || undefined;
  const uncounted = useAnswer<CapturesAnswer>(chosen ? "captures" : undefined, questionOf(place, ""));
  const counted = chosen ? uncounted.data?.captures : pages.rows;
  const more = chosen ? uncounted.data?.next_cursor !== "" : pages.more !== undefined;
  const choose = (trigger: string | undefined) => () => go(withQuery(place, { trigger }), "replace");
  const counts = countsOf(counted ?? [], chosen);
  const names = [undefined, ...counts.map(([name]) => name)];
  const next = () => choose(names[(names.indexOf(chosen) + 1) % names.length])();
  useKeys("Captures", [{ key: "e", what: "captures of the next trigger, or of all", run: next }]);
  if (!counted) return null;
  return (
    <div class="list-choices" role="group" aria-label="Trigger">
      <button aria-pressed={!chosen} onClick={choose(undefined)}>
        any trigger <span class="faint">{countText(counted.length, more)}</span>
      </button>
      {counts.map(([trigger, count]) => (
        <button key={trigger} aria-pressed={trigger === chosen} title={TRIGGERS[trigger]} onClick={choose(trigger)}>
          {trigger} <span class="faint">{countText(count, more)}</span>
        </button>
      ))}
    </div>
  );
}

/** "12", "12 or more" where not all were looked at. */
function countText(count: number, more: boolean): string {
  return more ? `${formatCount(count)}+` : formatCount(count);
}

function Nothing() {
  return (
    <p>
      No captures here. One is made of a request that is slower than its operation usually is, that has an error, or
      that somebody asks for; ask for another time, or for any service and trigger.
    </p>
  );
}

function Row({ row, zone }: { row: CaptureRow; zone: Zone }) {
  const trace = row.trace_id;
  const span: Readonly<Record<string, string>> = row.span_id ? { span: row.span_id } : {};
  return (
    <tr>
      <td>
        <a href={formatPlace({ view: "capture", id: row.id, query: {} })}>
          {formatInstant(BigInt(row.start_time_unix_nano), 3, zone)}
        </a>
      </td>
      <td title={TRIGGERS[row.trigger]} class={row.trigger === "error" || row.trigger === "crash" ? "bad" : ""}>
        {row.trigger}
      </td>
      <td>{row.service}</td>
      <td class="wide">{reasonOf(row)}</td>
      <td>
        {row.pid} <span class="faint">{row.host_name}</span>
      </td>
      <td class="number">{windowText(row)}</td>
      <td class="number">{formatBytes(row.size_bytes)}</td>
      <td>
        {trace && (
          <>
            <a class="mono" href={formatPlace({ view: "trace", id: trace, query: span })}>
              {trace.slice(0, 8)}
            </a>{" "}
            <a href={formatPlace({ view: "timeline", id: trace, query: span })}>timeline</a>
          </>
        )}
      </td>
      <td class="wide warning">{doubtsOf(row).join("; ")}</td>
    </tr>
  );
}
