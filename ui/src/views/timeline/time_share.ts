// State totals as rows: the greatest first, shares of their sum.
import type { StateTotals, ThreadStateName } from "@/api/generated/answers";
import { STATES } from "./tracks/states";

export interface ShareRow {
  readonly state: ThreadStateName;
  readonly nano: number;
  readonly share: number;
}

export function shareRows(totals: StateTotals): ShareRow[] {
  const told = STATES.map((state) => ({ state, nano: totals[`${state}_nano`] ?? 0 })).filter(({ nano }) => nano > 0);
  const all = told.reduce((sum, { nano }) => sum + nano, 0);
  return told.map((row) => ({ ...row, share: row.nano / all })).sort((one, other) => other.nano - one.nano);
}

/** "98 %", "1.9 %", "< 0.1 %": nothing that occurred is told as nothing. */
export function shareText(share: number): string {
  if (share < 0.001) return "< 0.1 %";
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}
