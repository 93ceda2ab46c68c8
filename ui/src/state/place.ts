// Place: what the page shows, as a value; the address bar is its only home, so that every view can be sent to a colleague.
//
// parse(format(place)) is the same place. What an address does not say is not in the value, and what is in the value as
// by default is not in the address. A view's own words (its query) are texts here; the view that owns them reads them.

export type View =
  | "explore"
  | "trace"
  | "timeline"
  | "services"
  | "nodes"
  | "captures"
  | "capture"
  | "snapshots"
  | "snapshot";

export interface Place {
  readonly view: View;
  /** Of a trace, a capture or a snapshot. */
  readonly id?: string;
  readonly query: Readonly<Record<string, string>>;
}

const WITH_ID: readonly View[] = ["trace", "capture", "snapshot"];
const PLAIN: readonly View[] = ["services", "nodes", "captures", "snapshots"];

export function parsePlace(pathname: string, search: string): Place | undefined {
  const query = readQuery(search);
  const [first = "", id, last, ...more] = pathname.split("/").slice(1).map(decodeURIComponent);
  if (more.length > 0) return undefined;
  if (first === "" || first === "explore") return id === undefined ? { view: "explore", query } : undefined;
  if (first === "trace" && id && last === "timeline") return { view: "timeline", id, query };
  if (last !== undefined) return undefined;
  const view = [...WITH_ID, ...PLAIN].find((name) => name === first);
  if (!view || WITH_ID.includes(view) !== (id !== undefined && id !== "")) return undefined;
  return id ? { view, id, query } : { view, query };
}

/** A word that is said more than once is one text of several lines. */
function readQuery(search: string): Record<string, string> {
  const words = new URLSearchParams(search);
  return Object.fromEntries([...new Set(words.keys())].map((word) => [word, words.getAll(word).join("\n")]));
}

export function formatPlace(place: Place): string {
  const search = new URLSearchParams(Object.entries(place.query).filter(([, value]) => value !== "")).toString();
  return pathOf(place) + (search ? `?${search}` : "");
}

function pathOf({ view, id }: Place): string {
  if (view === "explore") return "/";
  if (view === "timeline") return `/trace/${encodeURIComponent(id ?? "")}/timeline`;
  return id === undefined ? `/${view}` : `/${view}/${encodeURIComponent(id)}`;
}

/** The same place with some words of its query changed; undefined takes one out. */
export function withQuery(place: Place, changes: Readonly<Record<string, string | undefined>>): Place {
  const query: Record<string, string> = { ...place.query };
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined || value === "") delete query[key];
    else query[key] = value;
  }
  return { ...place, query };
}
