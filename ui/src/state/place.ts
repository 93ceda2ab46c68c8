// Place: what the page shows, as a value; the address bar is its only home, so that every view can be sent to a colleague.
//
// parse(format(place)) is the same place. What an address does not say is not in the value, and what is in the value as
// by default is not in the address. A view's own words (its query) are texts here; the view that owns them reads them.

import { pathOf, VIEW_NAMES, type View } from "./views";

export type { View } from "./views";

export interface Place {
  readonly view: View;
  /** Of a trace, a capture or a snapshot. */
  readonly id?: string;
  readonly query: Readonly<Record<string, string>>;
}

export function parsePlace(pathname: string, search: string): Place | undefined {
  const query = readQuery(search);
  const parts = pathname === "/explore" ? [""] : pathname.split("/").slice(1);
  for (const view of VIEW_NAMES) {
    const found = matched(pathOf(view).split("/").slice(1), parts);
    if (found) return { view, ...found, query };
  }
  return undefined;
}

function matched(pattern: readonly string[], parts: readonly string[]): { readonly id?: string } | undefined {
  if (pattern.length !== parts.length) return undefined;
  const at = pattern.indexOf(":id");
  if (pattern.some((part, nth) => nth !== at && part !== parts[nth])) return undefined;
  if (at < 0) return {};
  const id = decoded(parts[at] ?? "");
  return id ? { id } : undefined;
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** A word that is said more than once is one text of several lines. */
function readQuery(search: string): Record<string, string> {
  const words = new URLSearchParams(search);
  return Object.fromEntries([...new Set(words.keys())].map((word) => [word, words.getAll(word).join("\n")]));
}

export function formatPlace(place: Place): string {
  const search = new URLSearchParams(Object.entries(place.query).filter(([, value]) => value !== "")).toString();
  const path = pathOf(place.view).replace(":id", () => encodeURIComponent(place.id ?? ""));
  return path + (search ? `?${search}` : "");
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
