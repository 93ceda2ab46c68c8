// The waits of the selected item: sums by place and by the thread that ended them.
import type { WaitSum } from "@/api/generated/answers";
import type { Model } from "./model";
import { findThreadAt, type Found, type Selection } from "./selection";
import { Swatch } from "./TimeShare";
import type { Waits } from "./tracks/track";
import { moreText, sumText } from "./waits";
import { wakerText } from "./wakers";

interface Props {
  readonly waits: Waits;
  readonly selection: Selection;
  readonly model: Model;
  readonly chooseFound: (found: Found | undefined) => void;
}

export function WaitList({ waits, selection, model, chooseFound }: Props) {
  if (waits.sums.length === 0 && !waits.leftOut) return null;
  return (
    <section>
      <h3>Waits, the most expensive first</h3>
      <ol class="timeline-wakers">
        {waits.sums.map((sum, nth) => {
          const found = longestOf(model, selection, sum);
          return (
            <li key={nth}>
              <Swatch state={sum.state} /> {sumText(sum)}
              {sum.waker && `, ended by ${wakerText(sum.waker)}`}{" "}
              {found && (
                <button onClick={() => chooseFound(found)}>{sum.count > 1 ? "Go to the longest" : "Go there"}</button>
              )}
            </li>
          );
        })}
      </ol>
      {waits.more && <p class="faint">{moreText(waits.more)}</p>}
      {waits.leftOut && <p class="faint">The thread has too many waits and spans to add up these.</p>}
    </section>
  );
}

function longestOf(model: Model, { strip }: Selection, sum: WaitSum): Found | undefined {
  const process = model.processes.find(({ key }) => key === strip.processKey);
  const middle = sum.longest_offset_nano + sum.longest_nano / 2;
  return process && findThreadAt(model, process.process.pid, Number(strip.laneKey), middle);
}
