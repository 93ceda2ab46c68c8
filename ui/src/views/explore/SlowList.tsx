// The slowest requests of the selection, or of all that is shown, by their slowest span there; each leads to its trace.
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { SlowRow, SlowestAnswer } from "@/api/generated/answers";
import { useKeys } from "@/keys/keys";
import { colorsOf, type ServiceColors } from "@/draw/service_color";
import { formatCount } from "@/parts/figures";
import { focusRow } from "@/parts/focus_row";
import { Name } from "@/parts/Name";
import { usePages } from "@/parts/pages";
import { Problem, Waiting } from "@/parts/Problem";
import { isDark } from "@/state/appearance";
import { fromHere } from "@/state/navigation";
import { formatPlace } from "@/state/place";
import { formatDuration, formatInstant, nowUnixNano, type Zone } from "@/time/nano";
import type { Show } from "./Explorer";
import { slowestApart, type Heat } from "./heat";
import type { Lists } from "./lists";
import { dayAround } from "./other_time";
import { requestText, withoutStepped } from "./slow_rows";
import { holdsApart } from "./selection";
import { selectionHead, wholeOf } from "./selection_words";
import { filterParams, KEPT, selectionParams, type Kept, type Words } from "./words";

// Requests, each by its slowest span that fits.
const MOST = 50;
const FEWEST_SHOWN = 20;
const MOST_HIDDEN = 1000;

interface Props {
  readonly words: Words;
  readonly show: Show;
  readonly heat: Heat | undefined;
  readonly lists: Lists;
  /** The heatmap is not to be had, so nothing is asked. */
  readonly failed: boolean;
}

export function SlowList({ words, show, heat, lists, failed }: Props) {
  const { selection, kept } = words;
  const range = selection ? selectionParams(selection) : heat && wholeOf(heat);
  const params = {
    ...range,
    ...filterParams(words),
    by: "span",
    once: "trace",
    ...(kept && { kept }),
    limit: MOST,
  };
  const pages = usePages<SlowestAnswer, SlowRow>(
    range && "slowest",
    params,
    (answer) => answer.rows,
    (row) => row.trace_id,
  );
  const { error, again, stale, more } = pages;
  const { rows, hidden } = withoutStepped(pages.rows, words.unstepped);
  // A page of which much is left out is no page.
  useEffect(() => {
    if (more && !stale && hidden > 0 && hidden < MOST_HIDDEN && (rows?.length ?? 0) < FEWEST_SHOWN) more();
  }, [rows?.length, hidden, stale]);
  const list = useRef<HTMLOListElement>(null);
  const step = (by: number) => () => focusRow(list.current, by);
  useKeys("Slowest requests", [
    { key: "j", what: "next request; Enter opens it", run: step(1) },
    { key: "k", what: "request before", run: step(-1) },
  ]);
  const colors = useMemo(() => colorsOf(namesOf(lists, rows)), [lists.services, rows?.length]);
  const longest = rows?.[0]?.duration_nano ?? 1;
  return (
    <section class="explore-slow" aria-label="Slowest requests">
      <SlowHead {...{ words, show, heat }} stepped={pages.rows?.some((row) => row.stepped) === true} />
      {error && <Problem error={error} again={again} />}
      {!rows && !error && (range || !failed) && <Waiting what="Asking" />}
      {rows?.length === 0 && <p class="faint">There are none{NONE_KEPT[kept]}.</p>}
      {rows && rows.length > 0 && (
        <ol class="slow-list" ref={list} data-busy={stale}>
          {rows.map((row) => (
            <li key={row.trace_id + row.span_id + row.start_time_unix_nano}>
              <Row {...{ row, longest, colors }} zone={words.zone} />
            </li>
          ))}
          {more && (
            <li>
              <button class="list-more" onClick={more}>
                More
              </button>
            </li>
          )}
        </ol>
      )}
    </section>
  );
}

const NONE_KEPT: Readonly<Record<Kept, string>> = {
  "": "",
  any: " of which a capture or a snapshot was kept",
  captured: " of which a capture was kept",
  recorded: " of which a snapshot was kept",
};

type HeadProps = Pick<Props, "words" | "show" | "heat"> & {
  /** Some of the requests were slowed by single steps. */
  readonly stepped: boolean;
};

function SlowHead({ words, show, heat, stepped }: HeadProps) {
  const { kept, unstepped } = words;
  return (
    <div class="explore-head">
      <h2>Slowest requests</h2>
      <span class="faint">
        {apartText(words, heat)}
        {selectionHead(words, heat)}
      </span>
      <DayAround words={words} show={show} />
      <span class="explore-actions slow-choices">
        {(unstepped || stepped) && (
          <Check is={unstepped} choose={() => show({ ...words, unstepped: !unstepped }, "replace")}>
            without those slowed by single steps
          </Check>
        )}
        <KeptChoice kept={kept} choose={(next) => show({ ...words, kept: next }, "replace")} />
      </span>
    </div>
  );
}

/** Since when there are such, be it since which version, is seen in a day, seldom in an hour. */
function DayAround({ words, show }: Pick<Props, "words" | "show">) {
  const day = dayAround(words, nowUnixNano());
  if (!day) return null;
  return (
    <button title="the same durations, twelve hours before and after" onClick={() => show(day)}>
      The day around it <kbd>d</kbd>
    </button>
  );
}

function apartText({ selection }: Words, heat: Heat | undefined): string {
  const apart = heat && holdsApart(heat, selection) ? slowestApart(heat) : undefined;
  return apart ? `the slowest ${formatCount(apart.count)} spans: ` : "";
}

const KEPT_TEXTS: Readonly<Record<Kept, string>> = {
  "": "any",
  any: "captured or recorded",
  captured: "captured",
  recorded: "recorded",
};

function KeptChoice({ kept, choose }: { kept: Kept; choose: (kept: Kept) => void }) {
  return (
    <label class="check">
      kept
      <select
        title="a capture has what the threads did, a recording every instruction of a stretch"
        value={kept}
        onChange={({ currentTarget }) => choose(KEPT.find((word) => word === currentTarget.value) ?? "")}
      >
        {KEPT.map((word) => (
          <option key={word} value={word}>
            {KEPT_TEXTS[word]}
          </option>
        ))}
      </select>
    </label>
  );
}

function Check({ is, choose, children }: { is: boolean; choose: () => void; children: string }) {
  return (
    <label class="check">
      <input type="checkbox" checked={is} onChange={choose} /> {children}
    </label>
  );
}

// Those of the whole range, so that colours stay when rows change.
function namesOf({ services }: Lists, rows: readonly SlowRow[] | undefined): string[] {
  return [...(services ?? []), ...(rows ?? [])].map(({ service }) => service);
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
        <i aria-hidden="true" style={{ background: colors(row.service, isDark.value) }} />
        <span class="slow-service">{row.service}</span>
        <b>
          <Name text={row.operation} />
        </b>
        {row.error && <span class="bad">error</span>}
        {row.oversized && <span class="faint">oversized</span>}
        {!row.complete && !row.oversized && <span class="faint">incomplete</span>}
        {row.captures > 0 && <span class="slow-kept">captured</span>}
        {row.snapshots > 0 && <span class="slow-kept">snapshot</span>}
        {row.stepped && <span class="faint">slowed by single steps</span>}
      </span>
      <span class="faint slow-request">{requestText(row)}</span>
    </a>
  );
}
