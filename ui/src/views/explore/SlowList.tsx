// The slowest requests of the selection, or of all that is shown, by their slowest span there; each leads to its trace.
import { useMemo, useRef } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import type { SlowRow, SlowestAnswer } from "@/api/generated/answers";
import { useKeys } from "@/keys/keys";
import { colorsOf, type ServiceColors } from "@/draw/service_color";
import { focusRow } from "@/parts/focus_row";
import { Problem, Waiting } from "@/parts/Problem";
import { isDark } from "@/state/appearance";
import { fromHere } from "@/state/navigation";
import { formatPlace } from "@/state/place";
import { formatDuration, formatInstant, type Zone } from "@/time/nano";
import type { Heat } from "./heat";
import type { Lists } from "./lists";
import { oneOfEachTrace } from "./slow_rows";
import { selectionHead, wholeOf } from "./selection_words";
import { filterParams, selectionParams, type Words } from "./words";

// Spans: of one request, several may be among the slowest.
const MOST = 120;

interface Props {
  readonly words: Words;
  readonly heat: Heat | undefined;
  readonly lists: Lists;
}

export function SlowList({ words, heat, lists }: Props) {
  const { selection } = words;
  const range = selection ? selectionParams(selection) : heat && wholeOf(heat);
  const params = { ...range, ...filterParams(words), by: "span", limit: MOST };
  const { data, error, again, stale } = useAnswer<SlowestAnswer>(range && "slowest", params);
  const list = useRef<HTMLOListElement>(null);
  const step = (by: number) => () => focusRow(list.current, by);
  useKeys("Slowest requests", [
    { key: "j", what: "next request; Enter opens it", run: step(1) },
    { key: "k", what: "request before", run: step(-1) },
  ]);
  const colors = useMemo(() => colorsOf(namesOf(lists, data)), [lists.services, data]);
  const longest = data?.rows[0]?.duration_nano ?? 1;
  return (
    <section class="explore-slow" aria-label="Slowest requests">
      <div class="explore-head">
        <h2>Slowest requests</h2>
        <span class="faint">{selectionHead(words, heat)}</span>
      </div>
      {error && <Problem error={error} again={again} />}
      {!data && !error && <Waiting what="Asking" />}
      {data?.rows.length === 0 && <p class="faint">There are none.</p>}
      {data && data.rows.length > 0 && (
        <ol class="slow-list" ref={list} data-busy={stale}>
          {oneOfEachTrace(data.rows).map((row) => (
            <li key={row.trace_id + row.span_id + row.start_time_unix_nano}>
              <Row {...{ row, longest, colors }} zone={words.zone} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

// Those of the whole range, so that colours stay when rows change.
function namesOf({ services }: Lists, data: SlowestAnswer | undefined): string[] {
  return [...(services ?? []), ...(data?.rows ?? [])].map(({ service }) => service);
}

interface RowProps {
  readonly row: SlowRow;
  readonly longest: number;
  readonly colors: ServiceColors;
  readonly zone: Zone;
}

function Row({ row, longest, colors, zone }: RowProps) {
  const address = formatPlace(fromHere({ view: "trace", id: row.trace_id, query: { span: row.span_id } }));
  return (
    <a href={address} style={{ "--share": String(row.duration_nano / longest) }}>
      <span class="number slow-duration">{formatDuration(row.duration_nano)}</span>
      <span class="faint slow-time">{formatInstant(BigInt(row.start_time_unix_nano), 3, zone).slice(5)}</span>
      <span class="slow-name">
        <i aria-hidden="true" style={{ background: colors(row.service, isDark.value) }} /> {row.service}{" "}
        <b>{row.operation}</b> {row.error && <span class="bad">error</span>}
        {!row.complete && <span class="faint"> incomplete</span>}
        {row.captures > 0 && <span class="slow-kept">captured</span>}
        {row.snapshots > 0 && <span class="slow-kept">snapshot</span>}
        {row.stepped && <span class="faint"> slowed by single steps</span>}
      </span>
    </a>
  );
}
