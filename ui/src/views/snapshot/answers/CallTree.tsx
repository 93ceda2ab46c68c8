// The call tree as a table: rows fold, and bars show each row's part of the quantity that ranks the rows.
import type { SnapshotCallRow, SnapshotCallsAnswer, SnapshotViewUnit } from "@/api/generated/answers";
import { shortName } from "@/parts/code_names";
import { go } from "@/state/navigation";
import { withQuery, type Place } from "@/state/place";
import { lengthText } from "../flow/offsets";
import type { Asked } from "./Answers";
import { flippedIn, readClosed, unfolded } from "./folding";
import { MOST_ROWS, Numbers, Table, Verb } from "./tables";

const HEAD = [
  ["calls", "number"],
  ["elapsed", "number"],
  ["instructions", "number"],
  ["itself", "number"],
  ["time", "number"],
  ["itself, time", "number"],
  ["paused", "number"],
  ["a call took", "number"],
  ["function (where it was called)"],
] as const;

export function Calls({ id, place, tid }: Asked) {
  return (
    <Verb<SnapshotCallsAnswer> id={id} verb="calls" params={{ limit: MOST_ROWS, tid }}>
      {({ rows, time_unit: unit, ranked_by: by }) => <Tree {...{ rows, unit, by, place }} />}
    </Verb>
  );
}

type Rank = SnapshotCallsAnswer["ranked_by"];

interface TreeProps {
  readonly rows: readonly SnapshotCallRow[];
  readonly unit: SnapshotViewUnit;
  readonly by: Rank;
  readonly place: Place;
}

const elapsed = (row: SnapshotCallRow) => row.total_time + row.total_paused;

function Tree({ rows, unit, by, place }: TreeProps) {
  const closed = readClosed(place.query["closed"]);
  const size = (row: SnapshotCallRow) => (by === "time" ? elapsed(row) : row.total_instructions);
  const all = Math.max(1, rows[0] ? size(rows[0]) : 1);
  const flip = (id: number) => go(withQuery(place, { closed: flippedIn(closed, id) }), "replace");
  return (
    <Table label="Call tree" head={HEAD}>
      {unfolded(rows, closed).map(({ row, below }) => (
        <TreeRow
          key={row.id}
          {...{ row, unit, by }}
          share={size(row) / all}
          open={below ? !closed.has(row.id) : undefined}
          flip={() => flip(row.id)}
        />
      ))}
    </Table>
  );
}

interface RowProps {
  readonly row: SnapshotCallRow;
  readonly unit: SnapshotViewUnit;
  readonly by: Rank;
  readonly share: number;
  /** Undefined: there is nothing below it. */
  readonly open: boolean | undefined;
  readonly flip: () => void;
}

function TreeRow({ row, unit, by, share, open, flip }: RowProps) {
  const { took } = row;
  const some = (length: number | undefined) => (length ? lengthText(unit, length) : "");
  const range = took.min === undefined ? "" : `${some(took.min) || "0"} … ${some(took.max) || "0"}`;
  const inlined = row.called_from_inlined;
  const place = inlined?.line ?? row.called_from_line ?? row.self_line;
  const bar = <i style={{ width: `${share * 100}%` }} />;
  // A thread's name has its id, which a function's short name would lose.
  const name = row.kind === "thread" ? row.name : shortName(row.name);
  return (
    <tr class={row.kind === "gap" ? "warning" : ""}>
      <Numbers values={[row.calls || ""]} />
      <td class="number tree-share">
        {some(elapsed(row))}
        {by === "time" && bar}
      </td>
      <td class="number tree-share">
        {row.total_instructions.toLocaleString("en")}
        {by === "instructions" && bar}
      </td>
      <Numbers values={[row.instructions]} />
      <Numbers values={[some(row.total_time), some(row.time), some(row.total_paused), range]} />
      <td title={row.name} style={{ paddingLeft: `${0.6 + row.depth}rem` }}>
        {open === undefined ? (
          <span class="tree-fold" />
        ) : (
          <button class="plain tree-fold" aria-expanded={open} aria-label={`What ${name} calls`} onClick={flip}>
            {open ? "▾" : "▸"}
          </button>
        )}{" "}
        {name}{" "}
        {place && (
          <span class="faint">
            ({place}
            {inlined && ` in ${shortName(inlined.function)}, inlined at ${row.called_from_line ?? "?"}`})
          </span>
        )}
      </td>
    </tr>
  );
}
