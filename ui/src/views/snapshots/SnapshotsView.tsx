// The snapshots that there are: recorded control flow, instruction by instruction.
import type { SnapshotRow, SnapshotsAnswer } from "@/api/generated/answers";
import { ChoiceFilter, FollowButton, followOf, TextFilter } from "@/parts/Filters";
import { usePages } from "@/parts/pages";
import { Problem, Waiting } from "@/parts/Problem";
import { formatBytes } from "@/parts/figures";
import type { Column } from "@/parts/order";
import { useSorting } from "@/parts/SortedHead";
import { TableOfRows } from "@/parts/TableOfRows";
import { formatPlace, type Place } from "@/state/place";
import { formatInstant } from "@/time/nano";
import { commandText, doubtsOf, engineText, questionOf, whenOf } from "./snapshots";

const COLUMNS: readonly Column<SnapshotRow>[] = [
  { key: "taken", label: "Taken", greatestFirst: true, value: (row) => whenOf(row).at },
  { key: "engine", label: "Engine", value: engineText },
  { key: "host", label: "Host", value: ({ host }) => host },
  { key: "command", label: "Command", value: ({ command }) => commandText(command) },
  { key: "trigger", label: "Trigger", value: ({ trigger }) => trigger.reason },
  { key: "trace", label: "Trace" },
  { key: "size", label: "Size", kind: "number", value: ({ bytes }) => bytes },
  { key: "doubts", label: "Doubts" },
];

const RANGES: readonly (readonly [string, string])[] = [
  ["", "any time"],
  ["1h", "the last hour"],
  ["1d", "the last day"],
  ["7d", "the last 7 days"],
];

export function SnapshotsView({ place }: { place: Place }) {
  const sorting = useSorting(COLUMNS, "taken");
  const pages = usePages<SnapshotsAnswer, SnapshotRow>(
    "snapshots",
    questionOf(place),
    (answer) => answer.snapshots,
    (row) => row.id,
    followOf(place),
  );
  return (
    <>
      <div class="list-head">
        <h1>Snapshots</h1>
        <TextFilter place={place} name="host" label="Host" first />
        <ChoiceFilter place={place} name="since" label="Taken" choices={RANGES} />
        <FollowButton place={place} />
      </div>
      {pages.error && <Problem error={pages.error} again={pages.again} />}
      {!pages.rows && !pages.error && <Waiting what="Looking for snapshots" />}
      {pages.rows && pages.rows.length === 0 && <Nothing />}
      {pages.rows && pages.rows.length > 0 && (
        <TableOfRows label="Snapshots" sorting={sorting} rows={pages.rows}>
          {(row) => <Row key={row.id} row={row} />}
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

function Nothing() {
  return (
    <p>
      No snapshots here. <code>fathom record</code> records a program&apos;s instructions, and{" "}
      <code>fathom snapshot push</code> brings what was recorded to this server.
    </p>
  );
}

function Row({ row }: { row: SnapshotRow }) {
  const { at, received } = whenOf(row);
  const { reason, tid, trace_id: trace, span_id: span } = row.trigger;
  const query: Readonly<Record<string, string>> = span ? { span } : {};
  return (
    <tr>
      <td>
        <a href={formatPlace({ view: "snapshot", id: row.id, query: {} })}>{formatInstant(at, 3)}</a>
        {received && <span class="faint"> (received)</span>}
      </td>
      <td class={row.engine === "stand_in" ? "warning" : ""}>{engineText(row)}</td>
      <td>{row.host}</td>
      <td class="wide mono" title={row.command}>
        {commandText(row.command)}
      </td>
      <td>
        {reason} {tid >= 0 && <span class="faint">thread {tid}</span>}
      </td>
      <td>
        {trace && (
          <a class="mono" href={formatPlace({ view: "trace", id: trace, query })}>
            {trace.slice(0, 8)}
          </a>
        )}
      </td>
      <td class="number">{formatBytes(row.bytes)}</td>
      <td class="wide warning">{doubtsOf(row).join("; ")}</td>
    </tr>
  );
}
