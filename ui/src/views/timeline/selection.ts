// Selection: which item is chosen, how keys go from one to the next, and how the address says it.
import { stripOf, type Layout, type Strip } from "./layout";
import type { Lane, Model } from "./model";
import type { Description } from "./tracks/track";

export interface Selection {
  readonly strip: Strip;
  readonly row: number;
  readonly item: number;
}

export function describe(selection: Selection): Description {
  return selection.strip.track.describe(selection);
}

/** "states~0~-2500~8~7@shop-1": kind, row, begin, lane, process; "events~0~50.1~...": the second that begins then. */
export function formatSelection({ strip, row, item }: Selection): string {
  const index = strip.track.rows[row];
  const begin = index?.beginOf(item) ?? 0;
  const nth = item - (index?.firstFrom(begin) ?? item);
  return [strip.track.kind, row, nth > 0 ? `${begin}.${nth}` : begin, strip.laneKey, strip.processKey].join("~");
}

/** Undefined: there is no such item (any more), or it is folded away. */
export function parseSelection(layout: Layout, text: string | undefined): Selection | undefined {
  const [kind = "", row = "", when = "", laneKey = "", ...process] = (text ?? "").split("~");
  const [begin = "", nth = "0"] = when.split(".");
  const strip = stripOf(layout, process.join("~"), laneKey, kind);
  const index = strip?.track.rows[Number(row)];
  const item = (index?.firstFrom(Number(begin)) ?? 0) + Math.floor(Number(nth));
  if (!strip || !index || begin === "" || !(item < index.length) || index.beginOf(item) !== Number(begin))
    return undefined;
  return { strip, row: Number(row), item };
}

/** The item before or after it, in its row. */
export function beside(selection: Selection, step: 1 | -1): Selection {
  const index = selection.strip.track.rows[selection.row];
  const item = selection.item + step;
  return index && item >= 0 && item < index.length ? { ...selection, item } : selection;
}

/** In the row above or below that has anything, what is nearest to `nano`. */
export function across(layout: Layout, from: Selection, step: 1 | -1, nano: number): Selection {
  let at = layout.strips.indexOf(from.strip);
  let row = from.row + step;
  for (; at >= 0 && at < layout.strips.length; at += step) {
    const strip = layout.strips[at];
    const rows = strip?.track.rows ?? [];
    if (at !== layout.strips.indexOf(from.strip)) row = step > 0 ? 0 : rows.length - 1;
    for (; row >= 0 && row < rows.length; row += step) {
      const item = rows[row]?.nearest(nano);
      if (strip && item !== undefined) return { strip, row, item };
    }
  }
  return from;
}

/** Where keys begin while nothing is chosen: what one reads first, or the first of anything. */
export function firstOf(layout: Layout, nano: number): Selection | undefined {
  const strip = layout.strips.find(({ track }) => track.isMain) ?? layout.strips[0];
  const item = strip?.track.rows[0]?.nearest(nano);
  return strip && item !== undefined ? { strip, row: 0, item } : undefined;
}

export interface Found {
  readonly processKey: string;
  readonly laneKey: string;
  readonly kind: string;
  readonly row: number;
  readonly begin: number;
}

export function formatFound(found: Found): string {
  return [found.kind, found.row, found.begin, found.laneKey, found.processKey].join("~");
}

/** Where a span is, folded away or not. */
export function findSpan(model: Model, spanId: string): Found | undefined {
  for (const { key, lanes } of model.processes) {
    for (const lane of lanes) {
      const track = lane.tracks.find(({ kind }) => kind === "spans");
      const spans = lane.thread?.spans ?? model.processes.find((one) => one.key === key)?.process.spans ?? [];
      const span = spans.find(({ span_id }) => span_id === spanId);
      const row = span && track?.rows.findIndex((index) => holds(index, span.offset_nano, span.duration_nano));
      if (span && row !== undefined && row >= 0) {
        return { processKey: key, laneKey: lane.key, kind: "spans", row, begin: span.offset_nano };
      }
    }
  }
  return undefined;
}

function holds(index: Strip["track"]["rows"][number], begin: number, duration: number): boolean {
  const at = index.firstFrom(begin);
  return at < index.length && index.beginOf(at) === begin && index.endOf(at) === begin + duration;
}

/** What a thread did at that moment: whoever woke another one ran then. */
export function findThreadAt(model: Model, pid: number, tid: number, nano: number): Found | undefined {
  for (const { key, process, lanes } of model.processes) {
    if (process.pid !== pid) continue;
    const lane = lanes.find((one) => one.thread?.tid === tid);
    const found = lane && foundAt({ key }, lane, nano);
    if (found) return found;
  }
  return undefined;
}

/** The state that a thread was in at that moment, or the nearest. */
export function foundAt(process: { readonly key: string }, lane: Lane, nano: number): Found | undefined {
  const index = lane.tracks.find(({ kind }) => kind === "states")?.rows[0];
  const item = index?.nearest(nano);
  if (!index || item === undefined) return undefined;
  return { processKey: process.key, laneKey: lane.key, kind: "states", row: 0, begin: index.beginOf(item) };
}
