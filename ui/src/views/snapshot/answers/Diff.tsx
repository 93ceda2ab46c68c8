// Two executions of the same code: which calls one has and the other has not, and where they differ.
import { useAnswer } from "@/api/answer";
import { go } from "@/state/navigation";
import { withQuery } from "@/state/place";
import { formatInstant } from "@/time/nano";
import { commandText, whenOf } from "@/views/snapshots/snapshots";
import { shortName } from "@/parts/code_names";
import { lengthText } from "../flow/offsets";
import type { SnapshotDiffAnswer, SnapshotsAnswer } from "@/api/generated/answers";
import type { Asked } from "./Answers";
import { changeText } from "./shapes";
import { counted, Numbers, Table, Verb } from "./tables";

const MOST_ROWS = 300;

export function Diff({ id, place }: Asked) {
  const { data } = useAnswer<SnapshotsAnswer>("snapshots", { limit: 100 });
  const other = place.query["other"] ?? "";
  const others = (data?.snapshots ?? []).filter((row) => row.id !== place.id);
  const known = other === "" || others.some((row) => row.id === other);
  return (
    <>
      <label class="snapshot-bar">
        Compared with{" "}
        <select value={other} onChange={(event) => go(withQuery(place, { other: event.currentTarget.value }))}>
          <option value="">choose another snapshot</option>
          {!known && <option value={other}>{other.slice(0, 8)}</option>}
          {others.map((row) => (
            <option key={row.id} value={row.id}>
              {formatInstant(whenOf(row).at, 0)} {commandText(row.command).slice(0, 50)} {row.id.slice(0, 8)}
            </option>
          ))}
        </select>
      </label>
      {data && others.length === 0 && <p>The server has no other snapshot.</p>}
      {other && (
        <Verb<SnapshotDiffAnswer> id={id} verb={`diff/${encodeURIComponent(other)}`} params={{ limit: MOST_ROWS }}>
          {(answer) => <Differences of={answer} />}
        </Verb>
      )}
    </>
  );
}

const SIGNS = { added: "+", removed: "−", changed: "±", same: "" } as const;

function Differences({ of }: { of: SnapshotDiffAnswer }) {
  return (
    <>
      <p>
        The other one has {counted(of.paths_added)} paths and {counted(of.calls_added)} calls more, and lacks{" "}
        {counted(of.paths_removed)} paths and {counted(of.calls_removed)} calls.
      </p>
      <Table
        label="Differences"
        head={[
          ["calls", "number"],
          ["", "number"],
          ["instructions", "number"],
          [" ", "number"],
          ["time", "number"],
          ["function"],
        ]}
      >
        {of.rows.map(({ id, depth, name, change, first, second }) => (
          <tr key={id} class={`snapshot-${change}`}>
            <Numbers values={[second.calls, changeText(first.calls, second.calls)]} />
            <Numbers
              values={[second.total_instructions, changeText(first.total_instructions, second.total_instructions)]}
            />
            <Numbers values={[timeChange(first.total_time, second.total_time)]} />
            <td title={name} style={{ paddingLeft: `${0.6 + depth}rem` }}>
              {SIGNS[change]} {shortName(name)}
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function timeChange(first: number | undefined, second: number | undefined): string {
  return first === undefined || second === undefined ? "" : `${lengthText("ns", first)} → ${lengthText("ns", second)}`;
}
