// The slowest requests, of their slowest spans: a request is in the list once, by that of its spans that lasted longest.
import type { SlowRow } from "@/api/generated/answers";

/** `rows`: the longest first. */
export function oneOfEachTrace(rows: readonly SlowRow[]): readonly SlowRow[] {
  const seen = new Set<string>();
  return rows.filter(({ trace_id: id }) => !seen.has(id) && seen.add(id));
}
