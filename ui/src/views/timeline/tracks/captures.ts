// The windows of a process's captures: a row for each that overlaps another.
import type { CaptureLoss, TimelineAnswer, TimelineCapture, TimelineProcess } from "@/api/generated/answers";
import { lossText } from "@/parts/loss";
import { formatPlace } from "@/state/place";
import { formatDuration } from "@/time/nano";
import { ItemIndex } from "../item_index";
import { nestedRows } from "../nesting";
import { barTrack } from "./bars";
import { lasting } from "./context";
import type { Description, Fact, Track } from "./track";

export function captureTrack(answer: TimelineAnswer, process: TimelineProcess): Track | undefined {
  const captures = process.captures.flatMap((index) => answer.captures[index] ?? []);
  const told = captures.flatMap((capture) =>
    capture.offset_nano === undefined ? [] : [{ ...capture, offset_nano: capture.offset_nano }],
  );
  if (told.length === 0) return undefined;
  const rows = nestedRows(told.map(lasting));
  const at = (row: number, item: number) => rows[row]?.[item]?.item;
  return barTrack({
    kind: "captures",
    label: "captures",
    one: "capture",
    rows: rows.map(
      (row) =>
        new ItemIndex(
          row.map((one) => ({ ...one, kind: 0 })),
          1,
        ),
    ),
    rowHeight: 16,
    unknown: [],
    color: (_, palette) => palette.color.line,
    text: (row, item) => textOf(at(row, item)),
    kindName: () => "captures",
    describe: ({ row, item }) => describeCapture(at(row, item)),
  });
}

function textOf(capture: TimelineCapture | undefined): string {
  return capture ? `captured: ${capture.reason ?? capture.trigger}` : "";
}

function describeCapture(capture: TimelineCapture | undefined): Description {
  if (!capture) return { title: "", what: "", begin: 0, end: 0, facts: [] };
  const begin = capture.offset_nano ?? 0;
  return {
    title: capture.reason ?? capture.trigger,
    what: `capture, ${capture.trigger}`,
    begin,
    end: begin + (capture.duration_nano ?? 0),
    facts: factsOf(capture),
  };
}

function factsOf(capture: TimelineCapture): Fact[] {
  const begin = capture.offset_nano ?? 0;
  const facts: Fact[] = [
    { label: "capture", value: capture.id, href: formatPlace({ view: "capture", id: capture.id, query: {} }) },
    { label: "operation", value: capture.operation },
    { label: "events from", value: sinceBegin(begin, capture.events_complete_from_offset_nano) },
    {
      label: "kernel from",
      value: capture.kernel_missing ?? sinceBegin(begin, capture.kernel_complete_from_offset_nano),
    },
  ];
  for (const loss of lossesOf(capture)) {
    facts.push({ label: "lost", value: lossText(loss) });
  }
  if (capture.truncated) facts.push({ label: "truncated", value: "it was cut" });
  if (capture.crosses_clock_jump) facts.push({ label: "clock", value: "a clock jumped within the window" });
  if (capture.clock_unknown) facts.push({ label: "clock", value: "not measured: it may be placed wrongly" });
  if (capture.clock) facts.push({ label: "clock error", value: `at most ${formatDuration(capture.clock.error_nano)}` });
  if (capture.process_ended) facts.push({ label: "process", value: "ended" });
  if (capture.exit_signal) facts.push({ label: "killed by", value: capture.exit_signal });
  return facts;
}

function sinceBegin(begin: number, from: number | undefined): string {
  if (from === undefined) return "nothing";
  return from <= begin ? "complete" : `complete ${formatDuration(from - begin)} after its begin`;
}

/** What agents say of a capture's losses is in its header and in its content: told once. */
export function lossesOf(capture: Pick<TimelineCapture, "losses" | "content_losses">): CaptureLoss[] {
  const most = new Map<string, number>();
  for (const { name, count } of [...capture.losses, ...(capture.content_losses ?? [])]) {
    most.set(name, Math.max(count, most.get(name) ?? 0));
  }
  return [...most].map(([name, count]) => ({ name, count }));
}
