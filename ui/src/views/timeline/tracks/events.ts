// The tracepoints that a thread passed.
import type { TimelineEvent } from "@/api/generated/answers";
import { ItemIndex } from "../item_index";
import { barTrack } from "./bars";
import { byBegin, hasAny, unknownWithGaps, type TrackSource } from "./context";
import { hrefOf } from "./spans";
import type { Description, Fact, Track } from "./track";

const KINDS = ["of this request", "of another request, or of none"];

export function eventTrack(source: TrackSource): Track | undefined {
  const { thread } = source;
  if (!thread || !hasAny(thread, "events")) return undefined;
  const events = byBegin(thread.events);
  const items = events.map((event) => ({ begin: event.offset_nano, end: event.offset_nano, kind: kindOf(event) }));
  return barTrack({
    kind: "events",
    label: "events",
    one: "event",
    rows: [new ItemIndex(items, KINDS.length, true)],
    rowHeight: 16,
    unknown: unknownWithGaps(source.unknownOfEvents, thread.gaps, "events"),
    color: (kind, palette) => palette.color[kind === 0 ? "event" : "faint"],
    text: (_, item) => events[item]?.name ?? "",
    kindName: (kind) => KINDS[kind] ?? "",
    describe: ({ item }) => describeEvent(source, events[item]),
  });
}

function kindOf(event: TimelineEvent): number {
  return event.other_request || !event.span_id ? 1 : 0;
}

function describeEvent(source: TrackSource, event: TimelineEvent | undefined): Description {
  if (!event) return { title: "", what: "", begin: 0, end: 0, facts: [] };
  return {
    title: event.name ?? "event",
    what: event.other_request ? "tracepoint, under a span of another request" : "tracepoint",
    begin: event.offset_nano,
    end: event.offset_nano,
    facts: [...valuesOf(event), ...placeOf(source, event)],
  };
}

function valuesOf(event: TimelineEvent): Fact[] {
  return Object.entries(event.values ?? {}).map(([label, value]) => ({ label, value: String(value) }));
}

function placeOf(source: TrackSource, event: TimelineEvent): Fact[] {
  const facts: Fact[] = [];
  const trace = event.trace_id ?? source.answer.trace_id;
  if (event.cut) facts.push({ label: "cut", value: "the end of a value is missing" });
  if (event.file) facts.push({ label: "at", value: `${event.file}:${event.line ?? 0}` });
  if (event.span_id)
    facts.push({ label: "span", value: event.span_id, ...(trace && { href: hrefOf(trace, event.span_id) }) });
  if (event.span_uncertain) facts.push({ label: "span", value: "uncertain" });
  return facts;
}
