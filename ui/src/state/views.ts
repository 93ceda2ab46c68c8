// The views that there are: from here come the addresses, the tabs, the keys and the window's title. What draws each is in
// views/views.tsx, which does not compile while one of these has nothing.

export interface ViewWords {
  /** What a tab, a key's help and the window's title call it. */
  readonly title: string;
  /** Leads there from everywhere; those that have one are the tabs, in this order. */
  readonly key?: string;
  /** Whether its address names a trace, a capture, a snapshot. */
  readonly withId?: true;
  /** The path, where it is not the view's name (and its id behind that). */
  readonly path?: string;
}

const LIST = {
  explore: { title: "Explore", key: "1", path: "/" },
  services: { title: "Services", key: "2" },
  nodes: { title: "Nodes", key: "3" },
  captures: { title: "Captures", key: "4" },
  snapshots: { title: "Snapshots", key: "5" },
  trace: { title: "Trace", withId: true },
  timeline: { title: "Timeline", withId: true, path: "/trace/:id/timeline" },
  capture: { title: "Capture", withId: true },
  snapshot: { title: "Snapshot", withId: true },
} as const satisfies Readonly<Record<string, ViewWords>>;

export type View = keyof typeof LIST;

export const VIEWS: Readonly<Record<View, ViewWords>> = LIST;
export const VIEW_NAMES = Object.keys(LIST) as readonly View[];

/** Those with a key. */
export const TABS = VIEW_NAMES.flatMap((view) => {
  const { key, title } = VIEWS[view];
  return key === undefined ? [] : [{ view, key, title }];
});

/** "/services", "/trace/:id/timeline". */
export function pathOf(view: View): string {
  const { path, withId } = VIEWS[view];
  return path ?? (withId ? `/${view}/:id` : `/${view}`);
}

/** "checkout POST /pay · Trace 4bf92f35 · fathom": the window's title; `name` where the view knows one. */
export function titleOf(view: View | undefined, id: string | undefined, name: string | undefined): string {
  if (view === undefined) return "fathom";
  const what = [VIEWS[view].title, id?.slice(0, 8)].filter(Boolean).join(" ");
  return [name, what, "fathom"].filter(Boolean).join(" · ");
}
