// Which component shows which view. All but the first view come when they are needed, so that the first one is quick.
import type { ComponentType } from "preact";
import type { Place, View } from "@/state/place";

export type ViewComponent = ComponentType<{ place: Place }>;

/** state/views.ts has all else that is said of a view. */
export const LOAD: Readonly<Record<View, () => Promise<ViewComponent>>> = {
  explore: async () => (await import("./explore/Explorer")).Explorer,
  services: async () => (await import("./services/Services")).Services,
  nodes: async () => (await import("./nodes/Nodes")).Nodes,
  timeline: async () => (await import("./timeline/TimelineView")).TimelineView,
  captures: async () => (await import("./captures/CapturesView")).CapturesView,
  snapshots: async () => (await import("./snapshots/SnapshotsView")).SnapshotsView,
  capture: async () => (await import("./timeline/TimelineView")).TimelineView,
  snapshot: async () => (await import("./snapshot/SnapshotView")).SnapshotView,
  trace: async () => (await import("./trace/TraceView")).TraceView,
};
