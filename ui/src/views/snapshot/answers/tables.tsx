// The parts that are tables.
import type { ComponentChildren } from "preact";
import { useAnswer } from "@/api/answer";
import type { Params } from "@/api/ask";
import { formatBytes } from "@/parts/figures";
import { Problem, Waiting } from "@/parts/Problem";
import { shortName } from "@/parts/code_names";
import { lengthText } from "../flow/offsets";
import type {
  SnapshotCallRow,
  SnapshotCallsAnswer,
  SnapshotDistribution,
  SnapshotFunctionRow,
  SnapshotFunctionsAnswer,
  SnapshotStatsAnswer,
  SnapshotSyscallsAnswer,
  SnapshotViewUnit,
} from "@/api/generated/answers";
import type { Asked } from "./Answers";
import { Histogram } from "./Histogram";
import { columnsOf, columnsOfBuckets } from "./shapes";

const MOST_ROWS = 300;
const COLUMNS = 24;

export const counted = (count: number) => count.toLocaleString("en");

interface VerbProps<T> {
  readonly id: string;
  readonly verb: string;
  readonly params: Params;
  readonly children: (answer: T) => ComponentChildren;
}

/** Asks, says that it waits or what went wrong, and shows the answer. */
export function Verb<T>({ id, verb, params, children }: VerbProps<T>) {
  const { data, error, stale, again } = useAnswer<T>(`snapshots/${id}/${verb}`, params);
  if (error) return <Problem error={error} again={again} />;
  if (!data) return <Waiting what="Working it out; the first time takes some seconds" />;
  return <div aria-busy={stale}>{children(data)}</div>;
}

type Head = readonly (readonly [name: string, numbers?: "number"])[];

export function Table({ label, head, children }: { label: string; head: Head; children: ComponentChildren }) {
  return (
    <div class="rows snapshot-rows" role="region" aria-label={label} tabIndex={0} data-scrolls>
      <table>
        <thead>
          <tr>
            {head.map(([name, numbers]) => (
              <th key={name} scope="col" class={numbers ?? ""}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function Numbers({ values }: { values: readonly (number | string | undefined)[] }) {
  return (
    <>
      {values.map((value, at) => (
        <td key={at} class="number">
          {typeof value === "number" ? counted(value) : (value ?? "")}
        </td>
      ))}
    </>
  );
}

const CALLS_HEAD: Head = [
  ["calls", "number"],
  ["instructions", "number"],
  ["itself", "number"],
  ["time", "number"],
  ["itself, time", "number"],
  ["paused", "number"],
  ["a call took", "number"],
  ["function (where it was called)"],
];

export function Calls({ id, tid }: Asked) {
  return (
    <Verb<SnapshotCallsAnswer> id={id} verb="calls" params={{ limit: MOST_ROWS, tid }}>
      {({ rows, time_unit: unit }) => (
        <Table label="Call tree" head={CALLS_HEAD}>
          {rows.map((row) => (
            <CallTreeRow key={row.id} row={row} unit={unit} />
          ))}
        </Table>
      )}
    </Verb>
  );
}

function CallTreeRow({ row, unit }: { row: SnapshotCallRow; unit: SnapshotViewUnit }) {
  const { took } = row;
  const some = (length: number | undefined) => (length ? lengthText(unit, length) : "");
  const range = took.min === undefined ? "" : `${some(took.min) || "0"} … ${some(took.max) || "0"}`;
  const place = row.called_from_line ?? row.self_line;
  return (
    <tr class={row.kind === "gap" ? "warning" : ""}>
      <Numbers values={[row.calls || "", row.total_instructions, row.instructions]} />
      <Numbers values={[some(row.total_time), some(row.time), some(row.total_paused), range]} />
      <td title={row.name} style={{ paddingLeft: `${0.6 + row.depth}rem` }}>
        {shortName(row.name)} {place && <span class="faint">({place})</span>}
      </td>
    </tr>
  );
}

const FUNCTIONS_HEAD: Head = [
  ["calls", "number"],
  ["p50", "number"],
  ["p99", "number"],
  ["max", "number"],
  ["how long calls took"],
  ["time", "number"],
  ["itself, time", "number"],
  ["instructions", "number"],
  ["itself", "number"],
  ["function"],
];

export function Functions({ id, tid }: Asked) {
  return (
    <Verb<SnapshotFunctionsAnswer> id={id} verb="functions" params={{ limit: MOST_ROWS, tid }}>
      {({ functions, time_unit: unit }) => (
        <Table label="Functions" head={FUNCTIONS_HEAD}>
          {functions.map((row) => (
            <FunctionTableRow key={row.name} row={row} unit={unit} />
          ))}
        </Table>
      )}
    </Verb>
  );
}

function FunctionTableRow({ row, unit }: { row: SnapshotFunctionRow; unit: SnapshotViewUnit }) {
  const said = (length: number | undefined) => (length === undefined ? "" : lengthText(unit, length));
  const { p50, p99, max } = row.took;
  return (
    <tr>
      <Numbers values={[row.calls, said(p50), said(p99), said(max)]} />
      <td>
        <Histogram columns={columnsOfBuckets(row.took, COLUMNS)} unit={unit} />
      </td>
      <Numbers values={[said(row.total_time), said(row.time), row.total_instructions, row.instructions]} />
      <td title={row.name}>{shortName(row.name)}</td>
    </tr>
  );
}

const SYSCALLS_HEAD: Head = [
  ["system call"],
  ["count", "number"],
  ["interrupted", "number"],
  ["min", "number"],
  ["p50", "number"],
  ["p99", "number"],
  ["max", "number"],
  ["how long they took"],
  ["the longest in thread", "number"],
];

export function Syscalls({ id, tid }: Asked) {
  return (
    <Verb<SnapshotSyscallsAnswer> id={id} verb="syscalls" params={{ limit: MOST_ROWS, tid }}>
      {(answer) => (
        <>
          {answer.calls.length === 0 && <p>No system call was seen from its beginning to its end.</p>}
          <LeftOut of={answer} />
          <Table label="System calls" head={SYSCALLS_HEAD}>
            {answer.calls.map(({ call, count, interrupted, latency, longest }) => (
              <tr key={call}>
                <td>{call}</td>
                <Numbers values={[count, interrupted || "", ...figuresOf(latency, answer.time_unit)]} />
                <td>
                  <Histogram columns={columnsOf(latency.bars, COLUMNS)} unit={answer.time_unit} />
                </td>
                <Numbers values={[longest ? String(longest.tid) : ""]} />
              </tr>
            ))}
          </Table>
        </>
      )}
    </Verb>
  );
}

function LeftOut({ of: { unfinished, cut, untimed } }: { of: SnapshotSyscallsAnswer }) {
  const told = [
    unfinished > 0 && `${counted(unfinished)} did not end within the recording`,
    cut > 0 && `${counted(cut)} are cut by gaps`,
    untimed > 0 && `of ${counted(untimed)} no time is known`,
  ].filter(Boolean);
  return told.length > 0 ? <p class="faint">Not among them: {told.join("; ")}.</p> : null;
}

/** min, p50, p99, max; nothing where there are none. */
export function figuresOf(
  { count, min, p50, p99, max }: SnapshotDistribution,
  unit: SnapshotViewUnit | undefined,
): readonly string[] {
  if (count === 0) return ["", "", "", ""];
  return [min, p50, p99, max].map((value) => (unit ? lengthText(unit, value) : counted(value)));
}

export function Stats({ id }: Asked) {
  return (
    <Verb<SnapshotStatsAnswer> id={id} verb="stats" params={{}}>
      {(answer) => (
        <>
          <StatsFacts of={answer} />
          <Table label="Packets" head={[["packet"], ["count", "number"], ["bytes", "number"], ["share", "number"]]}>
            {Object.entries(answer.packets).map(([name, { count, bytes }]) => (
              <tr key={name}>
                <td>{name}</td>
                <Numbers
                  values={[count, bytes, `${((100 * bytes) / Math.max(1, answer.packet_bytes)).toFixed(1)} %`]}
                />
              </tr>
            ))}
          </Table>
          <Table label="Images" head={[["image"], ["bytes", "number"], ["what is wrong with it"]]}>
            {answer.images.map(({ name, bytes, present, problem }, at) => (
              <tr key={at} class={present ? "" : "warning"}>
                <td>{name}</td>
                <Numbers values={[bytes]} />
                <td>{problem}</td>
              </tr>
            ))}
          </Table>
        </>
      )}
    </Verb>
  );
}

function StatsFacts({ of }: { of: SnapshotStatsAnswer }) {
  const { median_time: time, median_instructions: instructions } = of.time_resolution;
  return (
    <p>
      {formatBytes(of.packet_bytes)} of packets in {lengthText(of.time_unit, of.length)}
      {of.mb_per_s !== null && `, ${of.mb_per_s.toFixed(1)} MB/s`}; {of.bytes_per_instruction.toFixed(3)} bytes per
      instruction. Time is newly known every {lengthText(of.time_unit, time)} or {counted(instructions)} instructions,
      at the median.
    </p>
  );
}
