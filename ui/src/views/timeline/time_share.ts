// State totals as rows: the greatest first, shares of their sum.
import type { StateTotals, ThreadStateName } from "@/api/generated/answers";
import { formatDuration } from "@/time/nano";
import { STATES } from "./tracks/states";

export interface ShareRow {
  readonly state: ThreadStateName;
  readonly nano: number;
  readonly share: number;
  /** The part of `nano` that was inferred, not recorded. */
  readonly guessed: number;
}

export function shareRows(totals: StateTotals): ShareRow[] {
  const told = STATES.map((state) => ({
    state,
    nano: totals[`${state}_nano`] ?? 0,
    guessed: guessedOf(totals, state),
  })).filter(({ nano }) => nano > 0);
  const all = told.reduce((sum, { nano }) => sum + nano, 0);
  return told.map((row) => ({ ...row, share: row.nano / all })).sort((one, other) => other.nano - one.nano);
}

function guessedOf(totals: StateTotals, state: ThreadStateName): number {
  return state === "unknown" ? 0 : (totals[`${state}_guessed_nano`] ?? 0);
}

/** "guessed", "3 ms guessed"; of "blocked", "beginning not seen"; empty if all of it was recorded. */
export function guessedText({ state, nano, guessed }: Pick<ShareRow, "state" | "nano" | "guessed">): string {
  if (guessed === 0) return "";
  if (state === "blocked") return "beginning not seen";
  return guessed >= nano ? "guessed" : `${formatDuration(guessed)} guessed`;
}

/** "98 %", "1.9 %", "< 0.1 %": nothing that occurred is told as nothing. */
export function shareText(share: number): string {
  if (share < 0.001) return "< 0.1 %";
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}
