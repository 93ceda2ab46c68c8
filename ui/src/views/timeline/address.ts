// What the address says of a timeline, beside which one it is.
import type { Params } from "@/api/ask";
import type { Place } from "@/state/place";

/** What is asked of the server. */
export function questionOf(place: Place): { path: string | undefined; params: Params } {
  const { all, limit, capture } = place.query;
  const kind = place.view === "capture" ? "captures" : "traces";
  return {
    path: place.id === undefined ? undefined : `${kind}/${encodeURIComponent(place.id)}/timeline`,
    params: { all: all === "1" && "true", limit, capture },
  };
}

/** Perfetto's file of the same. */
export function perfettoAddress(place: Place): string {
  const kind = place.view === "capture" ? "captures" : "traces";
  return `/api/v1/${kind}/${encodeURIComponent(place.id ?? "")}/perfetto`;
}

export function parseFolded(text: string | undefined): ReadonlySet<string> {
  return new Set((text ?? "").split(",").filter((key) => key !== ""));
}

export function formatFolded(folded: ReadonlySet<string>): string {
  return [...folded].sort().join(",");
}

export function toggled(folded: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(folded);
  if (!next.delete(key)) next.add(key);
  return next;
}

/** Ten times as many items as were asked for, as far as the server goes. */
export function moreItems(limit: string | undefined): string {
  return String(Math.min(1_000_000, 10 * (Number(limit) || 100_000)));
}
