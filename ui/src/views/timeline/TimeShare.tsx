// Where the time went: how long a thread was in each state, as a bar and as numbers.
import type { StateTotals, ThreadStateName } from "@/api/generated/answers";
import { formatDuration } from "@/time/nano";
import { guessedText, shareRows, shareText } from "./time_share";
import { STATE_WORDS } from "./tracks/states";

/** `why`: what is unknown is so for these reasons. */
export function TimeShare({ totals, why = [] }: { totals: StateTotals; why?: readonly string[] }) {
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
          {rows.map((row) => (
            <tr key={row.state} title={STATE_WORDS[row.state]}>
              <td>
                <Swatch state={row.state} /> {row.state} <span class="faint">{guessedText(row)}</span>
              </td>
              <td class="number">{formatDuration(row.nano)}</td>
              <td class="number">{shareText(row.share)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.some(({ state }) => state === "unknown") && why.length > 0 && (
        <p class="faint">Unknown: {why.join("; ")}.</p>
      )}
    </section>
  );
}

export function Swatch({ state }: { state: ThreadStateName }) {
  return <span class={`timeline-swatch timeline-state-${state}`} aria-hidden="true" />;
}
