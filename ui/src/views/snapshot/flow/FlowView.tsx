// Calls over time, and beside them the instructions: one instant in both.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import type { SnapshotViewAnswer, SnapshotViewThread } from "@/api/generated/answers";
import { useFillingHeight } from "@/draw/useFillingHeight";
import { Problem, Waiting } from "@/parts/Problem";
import { HeldLockLine, useHeldLock } from "@/parts/HeldLockLine";
import { heldPlace } from "@/parts/held_lock";
import { useKeys } from "@/keys/keys";
import { go } from "@/state/navigation";
import { withQuery, type Place } from "@/state/place";
import {
  firstThread,
  searchOf,
  sourceOfPlace,
  threadText,
  threadWords,
  unitOf,
  viewPath,
  type Source,
} from "./address";
import { Chart, type ChartHandle } from "./Chart";
import { selectedCall, useFlow, type Flow } from "./flow";
import { FlowAxis } from "./FlowAxis";
import { FlowDetails } from "./FlowDetails";
import { List } from "./List";
import type { Marks } from "./paint";
import { rowIn } from "./rows";
import { Search, useSearch } from "./Search";
import { SourcePane } from "./SourcePane";
import { useRevealedDepth } from "./useRevealedDepth";
import { changeFlow, toggleAxis, useFlowKeys } from "./useFlowKeys";
import { doubtsOf } from "./doubts";
import "./flow.css";

export function FlowView({ place }: { place: Place }) {
  const { data, error, again } = useAnswer<SnapshotViewAnswer>(viewPath(place.id ?? ""));
  const lock = useHeldLock(data?.snapshot_id);
  // Chosen once: what is found out later of a lock moves nobody who looks already.
  const first = useFirstThread(place, data, lock?.thread);
  if (error) return <Problem error={error} again={again} />;
  if (!data) return <Waiting what="Decoding the snapshot; a large one takes some seconds" />;
  if (data.threads.length === 0)
    return (
      <p>
        No instruction of this snapshot could be decoded.{" "}
        {data.gap_reasons.map(({ reason, cause }) => `${reason}${cause && `: ${cause}`}`).join("; ")}
      </p>
    );
  const { thread, axis } = sourceOfPlace(place, data, first);
  const shown = data.threads[thread];
  return (
    <>
      <LockOf id={data.snapshot_id} />
      {shown && <FlowBoard key={`${thread} ${axis}`} place={place} answer={data} thread={shown} first={first} />}
    </>
  );
}

/**
 * Which thread is shown where the address says none; the address says it as soon as it is shown. A lock's holder may become
 * known a moment later: it is gone to, unless the reader has chosen anything meanwhile.
 */
function useFirstThread(place: Place, answer: SnapshotViewAnswer | undefined, holder: number | undefined): number {
  const first = answer ? firstThread(answer, holder) : 0;
  const shown = answer && sourceOfPlace(place, answer, first).thread;
  const { thread, tid } = answer && shown !== undefined ? threadWords(answer, shown) : {};
  const taken = useRef<string | undefined>(undefined);
  const { query } = place;
  useEffect(() => {
    if (thread === undefined || (query["thread"] === thread && query["tid"] === tid)) return;
    const chosen = ["thread", "tid", "at", "range"].some((word) => query[word] !== undefined);
    if (!chosen) taken.current = thread;
    go(withQuery(place, { thread, tid }), "replace");
  }, [thread, tid, query["thread"], query["tid"]]);
  useEffect(() => {
    const untouched = query["thread"] === taken.current && !query["at"] && !query["range"];
    if (!answer || holder === undefined || taken.current === undefined || !untouched) return;
    taken.current = undefined;
    go(withQuery(place, threadWords(answer, holder)), "replace");
  }, [holder]);
  return first;
}

function LockOf({ id }: { id: string }) {
  const lock = useHeldLock(id);
  const show = () => lock && go(heldPlace(id, lock));
  useKeys("Lock", lock ? [{ key: "l", what: "to the line that held the lock", run: show }] : []);
  return lock ? <HeldLockLine id={id} lock={lock} shortcut="l" /> : null;
}

interface BoardProps {
  readonly place: Place;
  readonly answer: SnapshotViewAnswer;
  readonly thread: SnapshotViewThread;
  readonly first: number;
}

function FlowBoard({ place, answer, thread, first }: BoardProps) {
  const said = sourceOfPlace(place, answer, first);
  const source: Source = useMemo(() => said, [said.id, said.thread, said.axis]);
  const flow = useFlow(source, thread, unitOf(thread, source));
  const body = useFillingHeight();
  const list = useRef<{ pageRows: () => number; firstRow: () => number } | null>(null);
  const chart = useRef<ChartHandle>(null);
  const field = useRef<HTMLInputElement>(null);
  const search = useSearch(flow, searchOf(place));
  const [inList, setInList] = useState({ first: 0, end: 0 });
  const marks = useMarks(flow, inList);
  useRevealedDepth(flow, chart);
  const focusSearch = () => field.current?.select();
  useFlowKeys({ flow, list, focusSearch, find: search.find, threads: answer.threads.length });
  return (
    <>
      <Bar answer={answer} flow={flow} />
      {flow.problem && <Problem error={flow.problem} again={() => askAgain(flow)} />}
      <div class="flow-body" ref={body}>
        <div class="flow-board" aria-busy={flow.pieces.tiles.waits}>
          <FlowAxis flow={flow} at={flow.at} />
          <Chart flow={flow} marks={marks} handle={chart} />
          <aside class="flow-details" aria-label="Details" tabIndex={0} data-scrolls>
            <FlowDetails flow={flow} />
          </aside>
        </div>
        <div class="flow-side">
          <Search controls={search} field={field} />
          <List flow={flow} handle={list} seen={(first, end) => setInList({ first, end })} />
        </div>
        <SourcePane flow={flow} firstRow={inList.first} />
      </div>
    </>
  );
}

function askAgain({ pieces }: Flow): void {
  pieces.tiles.again();
  pieces.pages.again();
}

function useMarks(flow: Flow, { first, end }: { first: number; end: number }): Marks {
  const { at, pieces, source, stack, selection } = flow;
  const offset = (row: number) =>
    source.axis === "rows" ? row : rowIn((key) => pieces.pages.get(key), row)?.row.offset;
  const [start, last] = end > first ? [offset(first), offset(end - 1)] : [undefined, undefined];
  return useMemo(() => {
    const call = selectedCall({ selection, stack });
    const listed = start !== undefined && last !== undefined ? { start, end: last } : undefined;
    return { at, call, listed };
  }, [at, stack, selection, start, last]);
}

function Bar({ answer, flow }: { answer: SnapshotViewAnswer; flow: Flow }) {
  const { source } = flow;
  return (
    <div class="flow-bar">
      <label>
        Thread{" "}
        <select
          value={String(source.thread)}
          onChange={(event) => changeFlow({ tid: undefined, thread: event.currentTarget.value })}
        >
          {answer.threads.map((thread, at) => (
            <option key={at} value={String(at)}>
              {threadText(thread)}
            </option>
          ))}
        </select>
      </label>
      {flow.thread.unit !== "rows" && (
        <button aria-pressed={source.axis === "rows"} onClick={() => toggleAxis(flow)} title="x">
          Over instructions
        </button>
      )}
      {doubtsOf(answer, flow.thread).map((doubt) => (
        <span key={doubt} class="flow-doubt">
          {doubt}
        </span>
      ))}
    </div>
  );
}
