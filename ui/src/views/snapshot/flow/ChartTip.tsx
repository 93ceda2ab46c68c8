// What is below the pointer, in a few words, and the moment.
import type { SnapshotViewBreak } from "@/api/generated/answers";
import "@/draw/over.css";
import { tipStyle } from "@/draw/tip";
import { nanoOf } from "@/draw/viewport";
import type { Flow } from "./flow";
import { lengthText, offsetLabel } from "./offsets";
import type { Bar } from "./tile";

export interface TipAt {
  readonly across: number;
  readonly down: number;
  readonly width: number;
  readonly height: number;
  readonly bar: Bar | undefined;
  readonly break: SnapshotViewBreak | undefined;
}

export function ChartTip({ at, flow }: { at: TipAt; flow: Flow }) {
  const offset = Math.round(nanoOf(flow.view, at.width, at.across));
  const lines = [...barLines(at.bar, flow), ...breakLines(at.break, flow)];
  return (
    <>
      <div class="over-crosshair" style={{ left: `${at.across}px` }} />
      <div class="over-tip" style={tipStyle(at)}>
        {lines.map((text, index) => (
          <div key={index} class={index === 0 ? "over-tip-title" : ""}>
            {text}
          </div>
        ))}
        <div class="faint">{offsetLabel(flow.unit)(offset, 1, Math.abs(offset))}</div>
      </div>
    </>
  );
}

function barLines(bar: Bar | undefined, { unit }: Flow): string[] {
  if (!bar) return [];
  const length = lengthText(unit, bar.end - bar.start);
  if (!bar.call) return [`${bar.calls.toLocaleString("en")} calls in ${length}`, "too narrow to tell apart; zoom in"];
  const { instructions, began_before, ended_after } = bar.call;
  const cut = [began_before && "began before the recording", ended_after && "went on after it"].filter(Boolean);
  return [bar.name, `${length}, ${instructions.toLocaleString("en")} instructions`, ...(cut as string[])];
}

function breakLines(found: SnapshotViewBreak | undefined, { unit }: Flow): string[] {
  if (!found) return [];
  const length = lengthText(unit, found.end - found.start);
  const many = found.count > 1 ? `${found.count.toLocaleString("en")} ` : "";
  if (found.kind === "gap") return [`${many}gap${many && "s"}, ${length}: ${found.reason || "something is missing"}`];
  return [`${many}pause${many && "s"}, ${length}: in the kernel, or another thread's turn`];
}
