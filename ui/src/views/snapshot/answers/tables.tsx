// The parts that are tables.
import type { ComponentChildren } from "preact";
import { useAnswer } from "@/api/answer";
import type { Params } from "@/api/ask";
import { formatBytes } from "@/parts/figures";
import type { Column } from "@/parts/order";
import { Problem, Waiting } from "@/parts/Problem";
import { SortedHead, useSorting, type Sorting } from "@/parts/SortedHead";
import { shortName } from "@/parts/code_names";
import { lengthText } from "../flow/offsets";
import type {
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

export const MOST_ROWS = 300;
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

export function SortedTable<Row>({
  label,
  sorting,
  children,
}: {
  label: string;
  sorting: Sorting<Row>;
  children: ComponentChildren;
}) {
  return (
    <div class="rows snapshot-rows" role="region" aria-label={label} tabIndex={0} data-scrolls>
      <table>
        <SortedHead of={sorting} />
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

const FUNCTION_COLUMNS: readonly Column<SnapshotFunctionRow>[] = [
  { key: "calls", label: "calls", kind: "number", value: ({ calls }) => calls },
  { key: "p50", label: "p50", kind: "number", value: ({ took }) => took.p50 },
  { key: "p99", label: "p99", kind: "number", value: ({ took }) => took.p99 },
  { key: "max", label: "max", kind: "number", value: ({ took }) => took.max },
  { key: "took", label: "how long calls took" },
  { key: "total_time", label: "time", kind: "number", value: (row) => row.total_time },
  { key: "time", label: "itself, time", kind: "number", value: (row) => row.time },
  { key: "total", label: "instructions", kind: "number", value: (row) => row.total_instructions },
  { key: "own", label: "itself", kind: "number", value: (row) => row.instructions },
  { key: "function", label: "function", value: ({ name }) => shortName(name) },
];

export function Functions({ id, tid }: Asked) {
  const sorting = useSorting(FUNCTION_COLUMNS, "own");
  return (
    <Verb<SnapshotFunctionsAnswer> id={id} verb="functions" params={{ limit: MOST_ROWS, tid }}>
      {({ functions, time_unit: unit }) => (
        <SortedTable label="Functions" sorting={sorting}>
          {sorting.sorted(functions).map((row) => (
            <FunctionTableRow key={row.name} row={row} unit={unit} />
          ))}
        </SortedTable>
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

type SyscallRow = SnapshotSyscallsAnswer["calls"][number];

const SYSCALL_COLUMNS: readonly Column<SyscallRow>[] = [
  { key: "call", label: "system call", value: ({ call }) => call },
  { key: "count", label: "count", kind: "number", value: ({ count }) => count },
  { key: "interrupted", label: "interrupted", kind: "number", value: ({ interrupted }) => interrupted },
  ...(["min", "p50", "p99", "max"] as const).map(
    (key): Column<SyscallRow> => ({
      ...{ key, label: key, kind: "number" },
      value: ({ latency }) => (latency.count > 0 ? latency[key] : undefined),
    }),
  ),
  { key: "took", label: "how long they took" },
  { key: "longest", label: "the longest in thread", kind: "number", value: ({ longest }) => longest?.tid },
];

export function Syscalls({ id, tid }: Asked) {
  const sorting = useSorting(SYSCALL_COLUMNS, "max");
  return (
    <Verb<SnapshotSyscallsAnswer> id={id} verb="syscalls" params={{ limit: MOST_ROWS, tid }}>
      {(answer) => (
        <>
          {answer.calls.length === 0 && <p>No system call was seen from its beginning to its end.</p>}
          <LeftOut of={answer} />
          <SortedTable label="System calls" sorting={sorting}>
            {sorting.sorted(answer.calls).map(({ call, count, interrupted, latency, longest }) => (
              <tr key={call}>
                <td>{call}</td>
                <Numbers values={[count, interrupted || "", ...figuresOf(latency, answer.time_unit)]} />
                <td>
                  <Histogram columns={columnsOf(latency.bars, COLUMNS)} unit={answer.time_unit} />
                </td>
                <Numbers values={[longest ? String(longest.tid) : ""]} />
              </tr>
            ))}
          </SortedTable>
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
      {of.mb_per_s !== null && `, ${speedText(of.mb_per_s)}`}; {of.bytes_per_instruction.toFixed(3)} bytes per
      instruction. Time is newly known every {lengthText(of.time_unit, time)} or {counted(instructions)} instructions,
      at the median.
    </p>
  );
}

/** "12.3 MB/s", "0.42 kB/s": of slow engines, too. */
function speedText(mbPerSecond: number): string {
  const [value, unit] = mbPerSecond >= 1 ? [mbPerSecond, "MB/s"] : [mbPerSecond * 1000, "kB/s"];
  return `${Number(value.toPrecision(3))} ${unit}`;
}
