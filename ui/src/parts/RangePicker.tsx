// Of when: the last hours, or from here to there, in local time or UTC.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { place } from "@/state/navigation";
import { nowUnixNano, type Zone } from "@/time/nano";
import { RECENT, isBetween, rangeProblem, type Range } from "@/time/range";
import { ZoneChoice } from "@/parts/ZoneChoice";
import { parseRange, writeWhen } from "@/time/when";
import "./range_picker.css";

export interface RangePickerProps {
  readonly range: Range;
  readonly zone: Zone;
  readonly chooseRange: (range: Range) => void;
  readonly chooseZone: (zone: Zone) => void;
  /** What else is chosen about time. */
  readonly children?: ComponentChildren;
}

export function RangePicker({ range, zone, chooseRange, chooseZone, children }: RangePickerProps) {
  const shown = { from: textOf(range, "from", zone), to: textOf(range, "to", zone) };
  const misread = place.value && rangeProblem(place.value.query);
  return (
    <div class="range-picker">
      <div class="joined" role="group" aria-label="The last">
        {RECENT.map((since) => (
          <button
            key={since}
            aria-pressed={!isBetween(range) && range.since === since}
            onClick={() => chooseRange({ since })}
          >
            {since}
          </button>
        ))}
      </div>
      <FromTo key={`${shown.from} ${shown.to}`} shown={shown} range={range} zone={zone} choose={chooseRange} />
      <ZoneChoice zone={zone} choose={chooseZone} {...(isBetween(range) && { at: range.from })} />
      {children}
      {misread && (
        <span class="field-problem misread" role="alert">
          {misread}
        </span>
      )}
    </div>
  );
}

function textOf(range: Range, end: "from" | "to", zone: Zone): string {
  if (isBetween(range)) return writeWhen(range[end], zone);
  return end === "to" ? "now" : `now-${range.since}`;
}

interface FromToProps {
  readonly shown: { readonly from: string; readonly to: string };
  readonly range: Range;
  readonly zone: Zone;
  readonly choose: (range: Range) => void;
}

function FromTo({ shown, range: before, zone, choose }: FromToProps) {
  const [typed, setTyped] = useState(shown);
  const [problem, setProblem] = useState("");
  const type = (changes: Partial<typeof shown>): void => {
    setTyped({ ...typed, ...changes });
    setProblem("");
  };
  const apply = (event: Event): void => {
    event.preventDefault();
    const kept = isBetween(before) && {
      ...(typed.from === shown.from && { from: before.from }),
      ...(typed.to === shown.to && { to: before.to }),
    };
    const range = parseRange(typed.from, typed.to, nowUnixNano(), zone, kept || {});
    if ("problem" in range) setProblem(range.problem);
    else choose(range);
  };
  const changed = typed.from !== shown.from || typed.to !== shown.to;
  return (
    <form class="from-to" onSubmit={apply}>
      <label>
        From{" "}
        <input
          value={typed.from}
          size={17}
          title="yesterday 14:00, 2pm, 2026-11-21 14:00, now-2h, 2026-11-21T14:00:00Z, 1795269600"
          aria-invalid={problem !== ""}
          onInput={(event) => type({ from: event.currentTarget.value })}
          onFocus={(event) => event.currentTarget.select()}
        />
      </label>
      <label>
        to{" "}
        <input
          value={typed.to}
          size={17}
          title="15:00, now; a time alone is of the same day"
          aria-invalid={problem !== ""}
          onInput={(event) => type({ to: event.currentTarget.value })}
          onFocus={(event) => event.currentTarget.select()}
        />
      </label>
      <button disabled={!changed}>Show</button>
      {problem && (
        <span class="field-problem" role="alert">
          {problem}
        </span>
      )}
    </form>
  );
}
