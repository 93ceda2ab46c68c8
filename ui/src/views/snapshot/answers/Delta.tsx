// From one instruction to another: how long, how many instructions, how often.
import { useEffect, useState } from "preact/hooks";
import { go } from "@/state/navigation";
import { withQuery } from "@/state/place";
import { lengthText } from "../flow/offsets";
import type { SnapshotDeltaAnswer, SnapshotDistribution } from "@/api/generated/answers";
import type { Asked } from "./Answers";
import { Histogram } from "./Histogram";
import { columnsOf } from "./shapes";
import { counted, figuresOf, Numbers, Table, Verb } from "./tables";

const MOST_ROWS = 50;

export function Delta({ id, place, tid }: Asked) {
  const { from = "", to = "" } = place.query;
  const [typed, setTyped] = useState({ from, to });
  // The address was changed by going back, or a link.
  useEffect(() => setTyped({ from, to }), [from, to]);
  const submit = (event: Event) => {
    event.preventDefault();
    go(withQuery(place, { from: typed.from.trim(), to: typed.to.trim() }));
  };
  return (
    <>
      <form class="snapshot-bar" onSubmit={submit}>
        <label>
          From{" "}
          <input
            value={typed.from}
            placeholder="lock"
            onInput={(event) => setTyped({ ...typed, from: event.currentTarget.value })}
          />
        </label>
        <label>
          to{" "}
          <input
            value={typed.to}
            placeholder="syscall"
            onInput={(event) => setTyped({ ...typed, to: event.currentTarget.value })}
          />
        </label>
        <button>Measure</button>
        <span class="faint">
          A function, <code>main.cc:42</code>, <code>0x401136</code>, <code>mov eax, *</code>; or call, return, branch,
          lock, syscall, fence, superCLI, superSTI
        </span>
      </form>
      {from && to ? (
        <Verb<SnapshotDeltaAnswer> id={id} verb="delta" params={{ from, to, tid, limit: MOST_ROWS }}>
          {(answer) => <Measured of={answer} />}
        </Verb>
      ) : (
        <p class="faint">Say from where to where. The same twice gives the periods between.</p>
      )}
    </>
  );
}

function Measured({ of }: { of: SnapshotDeltaAnswer }) {
  const unit = of.time_unit;
  return (
    <>
      <p>
        From: {of.from.meaning} ({counted(of.from.count)}). To: {of.to.meaning} ({counted(of.to.count)}){leftOut(of)}
      </p>
      <Spread title="Time between them, pauses included" of={of.time} unit={unit} />
      <Spread title="Instructions between them" of={of.instruction_count} unit={undefined} />
      <Table
        label="The longest"
        head={[
          ["took", "number"],
          ["began at", "number"],
          ["instructions", "number"],
          ["thread", "number"],
          ["from"],
          ["to"],
        ]}
      >
        {of.longest.map((one, at) => (
          <tr key={at}>
            <Numbers values={[one.time === null ? "unknown" : lengthText(unit, one.time)]} />
            <Numbers values={[one.begin === null ? "unknown" : lengthText(unit, one.begin), one.instructions]} />
            <Numbers values={[String(one.tid)]} />
            <Where address={one.from} place={one.from_place} />
            <Where address={one.to} place={one.to_place} />
          </tr>
        ))}
      </Table>
    </>
  );
}

function Where({ address, place }: { address: string; place: string }) {
  return (
    <td class="mono wide" title={address}>
      {place}
    </td>
  );
}

function leftOut({ broken, unclosed, untimed, time_unresolved: unresolved }: SnapshotDeltaAnswer): string {
  const told = [
    broken > 0 && `${counted(broken)} broken by gaps`,
    unclosed > 0 && `${counted(unclosed)} not closed`,
    untimed > 0 && `${counted(untimed)} without a time`,
    unresolved > 0 && `${counted(unresolved)} too short for the clock`,
  ].filter(Boolean);
  return told.length > 0 ? `; ${told.join(", ")}` : "";
}

function Spread({
  title,
  of,
  unit,
}: {
  title: string;
  of: SnapshotDistribution;
  unit: SnapshotDeltaAnswer["time_unit"] | undefined;
}) {
  const [min, p50, p99, max] = figuresOf(of, unit);
  return (
    <section class="snapshot-spread">
      <h2>{title}</h2>
      <Histogram columns={columnsOf(of.bars, 40)} unit={unit} width={420} height={90} />
      <p>{of.count > 0 && `${counted(of.count)}: min ${min}, p50 ${p50}, p99 ${p99}, max ${max}`}</p>
    </section>
  );
}
