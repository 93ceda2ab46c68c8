// When the newest span was, of a server that has none in the range that is shown: found with a few coarse heatmaps, each of
// the last column of the one before.
import type { HeatmapAnswer } from "@/api/generated/answers";
import { heatOf } from "./heat";
import type { UnixNano } from "@/time/nano";
import type { Between } from "@/time/range";
import { sentBetween } from "@/time/rfc3339";

const MINUTE = 60_000_000_000n;
const DAY = 1440n * MINUTE;
const NEAR = 5n * MINUTE;
const MOST_QUESTIONS = 4;

export type AskHeatmap = (params: Readonly<Record<string, string | number>>) => Promise<HeatmapAnswer>;

/** Some minutes that the newest span was started in; undefined: there is none. */
export async function newestSpan(ask: AskHeatmap, now: UnixNano): Promise<Between | undefined> {
  // Clocks may be ahead.
  let range: Between = { from: now - 3650n * DAY, to: now + DAY };
  for (let question = 0; question < MOST_QUESTIONS && range.to - range.from > NEAR; ++question) {
    const column = lastColumn(await ask({ ...sentBetween(range), columns: 1000, rows: 1 }));
    if (!column) return undefined;
    range = within(column, range);
  }
  return range;
}

function lastColumn(answer: HeatmapAnswer): Between | undefined {
  const { columnCounts, start, stepNano } = heatOf(answer);
  const at = columnCounts.reduce((last, count, column) => (count > 0 ? column : last), -1);
  const begin = start + BigInt(Math.max(at, 0)) * BigInt(stepNano);
  return at < 0 ? undefined : { from: begin, to: begin + BigInt(stepNano) };
}

// Columns may reach beyond the range that was asked for; it is not to grow again.
function within({ from, to }: Between, outer: Between): Between {
  return { from: from > outer.from ? from : outer.from, to: to < outer.to ? to : outer.to };
}

/** As long as the range that is shown, an hour at least, ending with it. */
export function rangeEndingWith({ to }: Between, lengthNano: number): Between {
  const length = BigInt(Math.max(Math.round(lengthNano), 3600e9));
  return { from: to - length, to };
}
