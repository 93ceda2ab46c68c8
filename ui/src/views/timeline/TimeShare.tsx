// Where the time went: how long a thread was in each state, as a bar and as numbers.
import type { StateTotals, ThreadStateName } from "@/api/generated/answers";
import { formatDuration } from "@/time/nano";
import { shareRows, shareText } from "./time_share";
import { STATE_WORDS } from "./tracks/states";

export function TimeShare({ totals }: { totals: StateTotals }) {
  const rows = shareRows(totals);
  return (
    <section>
      <h3>Where the time went</h3>
      <div class="timeline-share" aria-hidden="true">
        {rows.map(({ state, share }) => (
          <span key={state} style={{ width: `${share * 100}%` }} class={`timeline-state timeline-state-${state}`} />
        ))}
      </div>
      <table class="timeline-shares">
        <tbody>
          {rows.map(({ state, nano, share }) => (
            <tr key={state} title={STATE_WORDS[state]}>
              <td>
                <Swatch state={state} /> {state}
              </td>
              <td class="number">{formatDuration(nano)}</td>
              <td class="number">{shareText(share)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function Swatch({ state }: { state: ThreadStateName }) {
  return <span class={`timeline-swatch timeline-state-${state}`} aria-hidden="true" />;
}
