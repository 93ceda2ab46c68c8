// The captures that there are: which, why, and what of.
import { useEffect } from "preact/hooks";
import type { CaptureRow, CapturesAnswer } from "@/api/generated/answers";
import { ChoiceFilter, FollowButton, followOf, TextFilter } from "@/parts/Filters";
import { usePages } from "@/parts/pages";
import { Problem, Waiting } from "@/parts/Problem";
import { formatBytes } from "@/parts/size";
import { TableOfRows } from "@/parts/TableOfRows";
import { formatPlace, type Place } from "@/state/place";
import { formatInstant } from "@/time/nano";
import { doubtsOf, questionOf, RANGES, reasonOf, TRIGGERS, windowText } from "./captures";

const COLUMNS = [
  ["Window begins"],
  ["Trigger"],
  ["Service"],
  ["Operation"],
  ["Process"],
  ["Window", "number"],
  ["Size", "number"],
  ["Trace"],
  ["Doubts"],
] as const;

const TRIGGER_CHOICES: readonly (readonly [string, string])[] = [
  ["", "any"],
  ...Object.keys(TRIGGERS)
    .filter((trigger) => trigger !== "unknown")
    .map((trigger) => [trigger, trigger] as const),
];

export function CapturesView({ place }: { place: Place }) {
  useEffect(() => {
    document.title = "Captures · fathom";
  }, []);
  const pages = usePages<CapturesAnswer, CaptureRow>(
    "captures",
    questionOf(place),
    (answer) => answer.captures,
    (row) => row.id,
    followOf(place),
  );
  return (
    <>
      <Head place={place} />
      {pages.error && <Problem error={pages.error} again={pages.again} />}
      {!pages.rows && !pages.error && <Waiting what="Looking for captures" />}
      {pages.rows && pages.rows.length === 0 && <Nothing />}
      {pages.rows && pages.rows.length > 0 && (
        <TableOfRows label="Captures" columns={COLUMNS}>
          {pages.rows.map((row) => (
            <Row key={row.id} row={row} />
          ))}
        </TableOfRows>
      )}
      {pages.more && (
        <button class="list-more" onClick={pages.more}>
          More
        </button>
      )}
    </>
  );
}

function Head({ place }: { place: Place }) {
  return (
    <div class="list-head">
      <h1>Captures</h1>
      <TextFilter place={place} name="service" label="Service" first />
      <ChoiceFilter place={place} name="trigger" label="Trigger" choices={TRIGGER_CHOICES} />
      <ChoiceFilter place={place} name="since" label="Of the last" choices={RANGES} />
      <TextFilter place={place} name="from" label="From (instead)" hint="2026-11-21T14:00" />
      <TextFilter place={place} name="to" label="To" hint="2026-11-21T15:00" />
      <FollowButton place={place} />
    </div>
  );
}

function Nothing() {
  return (
    <p>
      No captures here. One is made of a request that is slower than its operation usually is, that has an error, or
      that somebody asks for; ask for another time, or for any service and trigger.
    </p>
  );
}

function Row({ row }: { row: CaptureRow }) {
  const trace = row.trace_id;
  const span: Readonly<Record<string, string>> = row.span_id ? { span: row.span_id } : {};
  return (
    <tr>
      <td>
        <a href={formatPlace({ view: "capture", id: row.id, query: {} })}>
          {formatInstant(BigInt(row.start_time_unix_nano), 3)}
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
