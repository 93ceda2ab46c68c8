// The spans that a thread had, a child below its parent.
import type { TimelineSpan } from "@/api/generated/answers";
import { formatPlace } from "@/state/place";
import { formatDuration } from "@/time/nano";
import { ItemIndex } from "../item_index";
import { nestedRows } from "../nesting";
import { barTrack } from "./bars";
import { lasting, type TrackSource } from "./context";
import type { Description, Fact, Track } from "./track";
import { waitsOf } from "../waits";

export function spanTrack(source: TrackSource): Track | undefined {
  if (source.spans.length === 0) return undefined;
  const services = [...new Set(source.spans.map((span) => span.service))].slice(0, 127);
  const rows = nestedRows(source.spans.map(lasting), (above, below) => isParent(above.item, below.item));
  const kindOf = (span: TimelineSpan) =>
    2 * Math.max(0, services.indexOf(span.service)) + Number(span.status === "error");
  const at = (row: number, item: number) => rows[row]?.[item]?.item;
  return barTrack({
    kind: "spans",
    label: "spans",
    one: "span",
    isMain: true,
    rows: rows.map(
      (row) =>
        new ItemIndex(
          row.map((one) => ({ ...one, kind: kindOf(one.item) })),
          2 * services.length,
        ),
    ),
    rowHeight: 20,
    unknown: [],
    color: (kind, palette) => source.colors(services[kind >> 1] ?? "", palette.dark),
    marked: (kind) => kind % 2 === 1,
    guessed: (row, item) => at(row, item)?.thread_guessed ?? false,
    text: (row, item) => textOf(at(row, item)),
    kindName: (kind) => `${services[kind >> 1] ?? ""}${kind % 2 === 1 ? ", errors" : ""}`,
    describe: ({ row, item }) => describeSpan(source, at(row, item)),
  });
}

function isParent(above: TimelineSpan, below: TimelineSpan): boolean {
  return below.parent_span_id !== "" && above.span_id === below.parent_span_id;
}

function textOf(span: TimelineSpan | undefined): string {
  return span ? `${span.status === "error" ? "✕ " : ""}${span.operation}  ${formatDuration(span.duration_nano)}` : "";
}

function describeSpan(source: TrackSource, span: TimelineSpan | undefined): Description {
  if (!span) return { title: "", what: "", begin: 0, end: 0, facts: [] };
  return {
    title: span.operation,
    what: `${span.kind === "unspecified" ? "" : `${span.kind} `}span of ${span.service}`,
    begin: span.offset_nano,
    end: span.offset_nano + span.duration_nano,
    facts: factsOf(source, span),
    ...(span.state_totals && { totals: span.state_totals }),
    ...(span.longest_wait && { longestWait: span.longest_wait, waits: waitsOf(span) }),
  };
}

function factsOf(source: TrackSource, span: TimelineSpan): Fact[] {
  const trace = span.trace_id ?? source.answer.trace_id;
  const facts: Fact[] = [{ label: "status", value: span.status }];
  facts.push({ label: "span", value: span.span_id, ...(trace && { href: hrefOf(trace, span.span_id) }) });
  if (span.parent_span_id) facts.push({ label: "parent", value: span.parent_span_id });
  if (span.trace_id) facts.push({ label: "trace", value: span.trace_id, href: hrefOf(span.trace_id) });
  if (span.open) facts.push({ label: "open", value: "was not over when it was captured" });
  if (span.thread_guessed) facts.push({ label: "thread", value: "guessed: nothing says which thread had it" });
  if (span.start_tid && span.end_tid)
    facts.push({ label: "threads", value: `started on ${span.start_tid}, ended on ${span.end_tid}` });
  return facts;
}

export function hrefOf(trace: string, span?: string): string {
  return formatPlace({ view: "trace", id: trace, query: span ? { span } : {} });
}
