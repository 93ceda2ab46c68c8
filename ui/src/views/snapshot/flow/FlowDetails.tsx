// All that is known of the selected instruction, and of the calls that are under way there.
import type { ComponentChildren } from "preact";
import type { SnapshotViewCall, SnapshotViewFunction } from "@/api/generated/answers";
import { selectedCall, type Flow } from "./flow";
import { lineText, shortName } from "@/parts/code_names";
import { exactLength, offsetText } from "./offsets";
import { rowIn, type ShownRow } from "./rows";
import { zoomToCall } from "./useFlowKeys";

export function FlowDetails({ flow }: { flow: Flow }) {
  const { selection, pieces, stack } = flow;
  if (!selection)
    return (
      <p class="faint">
        Click a call or an instruction, or press an arrow key: here stands all that is known of it. <kbd>?</kbd> shows
        the keys.
      </p>
    );
  const row = rowIn((key) => pieces.pages.get(key), selection.row);
  const call = selectedCall(flow);
  return (
    <>
      {stack && <Stack flow={flow} calls={stack.calls} functions={stack.functions} selected={call} />}
      <div class="flow-facts">
        {call && stack && <CallFacts flow={flow} call={call} of={stack.functions[call.function]} />}
        {row && <RowFacts flow={flow} shown={row} />}
      </div>
    </>
  );
}

interface StackProps {
  readonly flow: Flow;
  readonly calls: readonly SnapshotViewCall[];
  readonly functions: readonly SnapshotViewFunction[];
  readonly selected: SnapshotViewCall | undefined;
}

function Stack({ flow, calls, functions, selected }: StackProps) {
  const { selection, select } = flow;
  if (calls.length === 0) return <p class="faint">No call is known to be under way here.</p>;
  return (
    <nav class="flow-stack" aria-label="Calls under way, the outermost first">
      {calls.map((call) => {
        const name = functions[call.function]?.name ?? "?";
        return (
          <button
            key={call.depth}
            aria-pressed={call === selected}
            title={name}
            onClick={() => selection && select({ row: selection.row, depth: call.depth }, "chart")}
          >
            {shortName(name)}
          </button>
        );
      })}
    </nav>
  );
}

function CallFacts({ flow, call, of }: { flow: Flow; call: SnapshotViewCall; of: SnapshotViewFunction | undefined }) {
  const { unit } = flow;
  const from = call.called_from;
  const cut = call.began_before || call.ended_after;
  return (
    <section>
      <h2>
        {of?.name ?? "?"} <button onClick={() => zoomToCall(flow)}>Zoom to it</button>
      </h2>
      <dl>
        <Fact label="lasted">
          {call.end === call.start ? "too short for a clock" : exactLength(unit, call.end - call.start)}
          {cut && `, at least: it ${cutText(call)}`}
        </Fact>
        <Fact label="instructions">
          {call.instructions.toLocaleString("en")}, itself {call.self_instructions.toLocaleString("en")}
        </Fact>
        {from && (
          <Fact label="called from">{lineText(from) ? `${lineText(from)}, ${from.address}` : from.address}</Fact>
        )}
        {of?.file && <Fact label="defined at">{`${of.file}${of.line ? `:${of.line}` : ""}`}</Fact>}
        {of?.image && <Fact label="image">{of.image}</Fact>}
      </dl>
    </section>
  );
}

function cutText({ began_before, ended_after }: SnapshotViewCall): string {
  const parts = [began_before && "began before the recording", ended_after && "went on after it"];
  return parts.filter(Boolean).join(" and ");
}

function RowFacts({ flow, shown }: { flow: Flow; shown: ShownRow }) {
  const { row, function: own } = shown;
  const { unit, extent, source } = flow;
  const timeUnit = source.axis === "rows" && unit === "rows" ? undefined : unit;
  return (
    <section>
      <h2 class="mono">{row.text}</h2>
      <dl>
        {timeUnit && (
          <Fact label="at">
            {offsetText(timeUnit, row.offset, extent.end)}
            {row.time_guessed && <span title="Between what the packets tell"> (estimated)</span>}
          </Fact>
        )}
        <Fact label="row">{row.row.toLocaleString("en")}</Fact>
        {row.address && <Fact label="address">{row.address}</Fact>}
        {own && <Fact label="in">{`${own.name}+0x${(row.function_offset ?? 0).toString(16)}`}</Fact>}
        {row.file && <Fact label="source">{`${row.file}${row.line ? `:${row.line}` : ""}`}</Fact>}
        {row.target && <Fact label="leads to">{row.target}</Fact>}
        {row.reason && <Fact label="gap because of">{row.reason}</Fact>}
      </dl>
    </section>
  );
}

function Fact({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
