// What stands beside the lanes while nothing is chosen: why there are captures, what they lack, what colours mean.
import type { TimelineCapture } from "@/api/generated/answers";
import { lossText } from "@/parts/loss";
import { formatPlace } from "@/state/place";
import { formatDuration } from "@/time/nano";
import type { Model } from "./model";
import { Swatch } from "./TimeShare";
import { lossesOf } from "./tracks/captures";
import { STATES, STATE_WORDS } from "./tracks/states";

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
export function Legend() {
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
        </li>
      </ul>
      <p class="faint">
        Drag moves, Shift and drag zooms to a part, Ctrl and the wheel zoom. Keys: <kbd>w</kbd> <kbd>s</kbd>{" "}
        <kbd>a</kbd> <kbd>d</kbd>, arrows, <kbd>Enter</kbd>; all of them: <kbd>?</kbd>
      </p>
    </>
  );
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
