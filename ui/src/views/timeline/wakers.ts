// Wakers: who ended a wait, whom that one had waited for before, and so on: as far back as captures tell. Times are
// nanoseconds from the timeline's start.
import type { TimelineState, TimelineThread, TimelineWaker } from "@/api/generated/answers";
import type { Lane, Model, ProcessLanes } from "./model";
import { findThreadAt, foundAt, type Found, type Selection } from "./selection";

export interface WakerLink {
  readonly waker: TimelineWaker;
  readonly at: number;
  /** What the waker did then; undefined: it is not among the threads that are here. */
  readonly ran?: Found;
  /** The waker's own last wait before that. */
  readonly wait?: TimelineState;
  readonly waited?: Found;
}

const MOST_LINKS = 12;
const WAITS: readonly string[] = ["sleeping", "uninterruptible", "blocked", "stopped"];

export function isWait({ state }: Pick<TimelineState, "state">): boolean {
  return WAITS.includes(state);
}

/** From the one who ended the selected item on; empty where nobody is known. */
export function wakersOf(model: Model, { waker, wokenAt }: { waker?: TimelineWaker; wokenAt?: number }): WakerLink[] {
  const links: WakerLink[] = [];
  for (let [next, at] = [waker, wokenAt]; next && at !== undefined && links.length < MOST_LINKS; ) {
    const link = linkOf(model, next, at);
    links.push(link);
    // What was waited for later than it ended would lead round in a circle.
    const end = link.wait && endOfWait(link.wait);
    [next, at] = end !== undefined && end < at ? [link.wait?.waker, end] : [undefined, undefined];
  }
  return links;
}

function linkOf(model: Model, waker: TimelineWaker, at: number): WakerLink {
  if (waker.tid === undefined) return { waker, at };
  const ran = findThreadAt(model, waker.pid ?? 0, waker.tid, at);
  const here = ran && laneOf(model, ran.processKey, ran.laneKey);
  const wait = here?.lane.thread && waitBefore(here.lane.thread, at);
  const waited = wait && here && foundAt(here.process, here.lane, wait.offset_nano);
  return { waker, at, ...(ran && { ran }), ...(wait && { wait }), ...(waited && { waited }) };
}

function laneOf(
  model: Model,
  processKey: string,
  laneKey: string,
): { readonly process: ProcessLanes; readonly lane: Lane } | undefined {
  const process = model.processes.find(({ key }) => key === processKey);
  const lane = process?.lanes.find(({ key }) => key === laneKey);
  return process && lane && { process, lane };
}

/** The last wait that was over by then. */
function waitBefore({ states }: TimelineThread, nano: number): TimelineState | undefined {
  let last: TimelineState | undefined;
  for (const state of states) {
    if (isWait(state) && endOfWait(state) <= nano && (!last || state.offset_nano > last.offset_nano)) last = state;
  }
  return last;
}

function endOfWait({ offset_nano, duration_nano }: TimelineState): number {
  return offset_nano + duration_nano;
}

/** Where "who woke it" leads from what is chosen: to the waker; from a thread that runs, to what it had waited for. */
export function stepToWaker(
  model: Model,
  selection: Selection,
  { waker, wokenAt, begin }: { waker?: TimelineWaker; wokenAt?: number; begin: number },
): Found | { readonly nobody: string } {
  if (waker) {
    const ran = wokenAt === undefined || waker.tid === undefined ? undefined : linkOf(model, waker, wokenAt).ran;
    if (ran) return ran;
    return { nobody: waker.interrupt ? "an interrupt woke it: there is no thread to go to" : NOT_HERE };
  }
  if (selection.strip.track.kind !== "states")
    return { nobody: "choose a wait among the thread's states: who ended it is found from there" };
  const here = laneOf(model, selection.strip.processKey, selection.strip.laneKey);
  const wait = here?.lane.thread && waitBefore(here.lane.thread, begin);
  const waited = wait && here && foundAt(here.process, here.lane, wait.offset_nano);
  return waited || { nobody: "who woke it is not known" };
}

export function wakerText(waker: TimelineWaker): string {
  if (waker.interrupt)
    return waker.name
      ? `an interrupt (timer, disk or network) while ${waker.name} ran on that processor`
      : "an interrupt";
  const service = waker.service ? ` (${waker.service})` : "";
  return `${waker.name ?? "a thread"}, thread ${waker.tid ?? 0} of process ${waker.pid ?? 0}${service}`;
}

const NOT_HERE = "who woke it is not among the threads that are shown: all of them (t) may have it";
