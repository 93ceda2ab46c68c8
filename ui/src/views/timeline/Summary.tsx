// What stands beside the lanes while nothing is chosen: why there are captures, what they lack, what colours mean.
import { useMemo } from "preact/hooks";
import type { TimelineCapture } from "@/api/generated/answers";
import { lossText } from "@/parts/loss";
import { formatPlace } from "@/state/place";
import { formatDuration } from "@/time/nano";
import type { Model } from "./model";
import type { Lasting } from "./nesting";
import { Swatch } from "./TimeShare";
import { lossesOf } from "./tracks/captures";
import { STATES, STATE_WORDS } from "./tracks/states";
import { whyHatched } from "./unknown_parts";

export function Summary({ model }: { model: Model }) {
  return (
    <>
      <h2>Captures</h2>
      {model.answer.captures.map((capture) => (
        <Captured key={capture.id} capture={capture} />
      ))}
      {model.answer.captures.length === 0 && <p class="faint">none</p>}
    </>
  );
}

/** Always there: what the colours mean is asked most while one looks at an item. */
export function Legend({ model }: { model: Model }) {
  return (
    <>
      <h3>States of threads</h3>
      <ul class="timeline-legend">
        {STATES.map((state) => (
          <li key={state}>
            <Swatch state={state} /> <b>{state}</b> <span class="faint">{STATE_WORDS[state]}</span>
          </li>
        ))}
        <li>
          <span class="timeline-swatch timeline-hatched" aria-hidden="true" /> <b>hatched</b>{" "}
          <span class="faint">nothing, or not all, is known; point at it to see why</span>
          <Hatched model={model} />
        </li>
      </ul>
      <p class="faint">
        Drag moves, Shift and drag zooms to a part, Ctrl and the wheel zoom. Keys: <kbd>w</kbd> <kbd>s</kbd>{" "}
        <kbd>a</kbd> <kbd>d</kbd>, arrows, <kbd>Enter</kbd>; all of them: <kbd>?</kbd>
      </p>
    </>
  );
}

const MOST_PARTS = 5;

/** What the pointer finds at each stretch, for whoever has none. */
function Hatched({ model }: { model: Model }) {
  const reasons = useMemo(() => whyHatched(model), [model]);
  if (reasons.length === 0) return null;
  return (
    <details>
      <summary>Why, and where</summary>
      <ul>
        {reasons.map(({ why, parts }) => (
          <li key={why}>
            {why}: <span class="faint">{partsText(parts)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function partsText(parts: readonly Lasting[]): string {
  const texts = parts
    .slice(0, MOST_PARTS)
    .map(({ begin, end }) => `from ${formatDuration(begin)} to ${formatDuration(end)}`);
  const more = parts.length - texts.length;
  return `${texts.join("; ")}${more > 0 ? `; and ${more} more stretches` : ""}`;
}

function Captured({ capture }: { capture: TimelineCapture }) {
  const losses = lossesOf(capture);
  return (
    <div class="timeline-captured">
      <a href={formatPlace({ view: "capture", id: capture.id, query: {} })}>{capture.reason || capture.trigger}</a>
      <div class="faint">
        {capture.trigger} · {capture.service} {capture.pid} at {capture.host_name}
        {capture.duration_nano !== undefined && ` · ${formatDuration(capture.duration_nano)}`}
      </div>
      {losses.length > 0 && <div class="timeline-lost">lost: {losses.map(lossText).join(", ")}</div>}
      {capture.kernel_missing && <div class="timeline-lost">nothing of the kernel: {capture.kernel_missing}</div>}
    </div>
  );
}
