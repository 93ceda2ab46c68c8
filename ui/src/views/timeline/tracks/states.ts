// What the scheduler did with a thread: running, waiting for a processor, waiting for something.
import type { ThreadStateName, Throttled, TimelineState } from "@/api/generated/answers";
import { formatDuration } from "@/time/nano";
import { ItemIndex } from "../item_index";
import type { ColorName } from "../palette";
import { barTrack } from "./bars";
import { byBegin, lasting, hasAny, unknownWithGaps, type TrackSource } from "./context";
import type { Description, Fact, Track } from "./track";

export const STATES: readonly ThreadStateName[] = [
  "running",
  "runnable",
  "sleeping",
  "uninterruptible",
  "blocked",
  "stopped",
  "unknown",
];

export const STATE_WORDS: Readonly<Record<ThreadStateName, string>> = {
  running: "ran on a processor",
  runnable: "could have run, waited for a processor or its CPU quota",
  sleeping: "slept until somebody woke it",
  uninterruptible: "waited uninterruptibly, mostly for a disk",
  blocked: "slept, or waited uninterruptibly; the beginning was not seen",
  stopped: "was stopped by a signal or a debugger",
  unknown: "unknown: its events were lost",
};

/** For a runnable thread that left its processor, if a CPU quota may be the reason. */
export const THROTTLED_WORDS: Readonly<Record<Throttled, string>> = {
  possible: "preempted or throttled by a CPU quota",
  likely: "probably throttled by a CPU quota: its processor was idle",
};

const NOBODY_KNOWN = "slept; what woke it is not known";

export function stateColor(state: ThreadStateName): ColorName {
  return state;
}

export function stateTrack(source: TrackSource): Track | undefined {
  const { thread } = source;
  if (!thread || (!hasAny(thread, "states") && !thread.of_trace)) return undefined;
  const states = byBegin(thread.states);
  const index = new ItemIndex(
    states.map((state) => ({ ...lasting(state), kind: STATES.indexOf(state.state) })),
    STATES.length,
  );
  const at = (item: number) => states[item] ?? { state: "unknown", offset_nano: 0, duration_nano: 0 };
  return barTrack({
    kind: "states",
    label: "states",
    one: "state",
    rows: [index],
    rowHeight: 16,
    unknown: unknownWithGaps(source.unknownOfKernel, thread.gaps, "states"),
    color: (kind, palette) => palette.color[stateColor(STATES[kind] ?? "unknown")],
    text: (_, item) => textOf(at(item)),
    guessed: (_, item) => at(item).guessed ?? false,
    kindName: (kind) => STATES[kind] ?? "unknown",
    describe: ({ item }) => describeState(at(item), cutOf(states, item, source)),
  });
}

// Clocks of windows and of what is in them differ by less.
const NEAR_NANO = 1000;

/** Why a state is not told to its end, or from its begin; undefined: it is. */
function cutOf(states: readonly TimelineState[], item: number, { edges, thread }: TrackSource): string | undefined {
  const state = states[item];
  const next = states[item + 1];
  if (!state || state.state === "unknown") return undefined;
  const isNear = (nano: number) => edges.some((edge) => Math.abs(edge - nano) <= NEAR_NANO);
  const end = state.offset_nano + state.duration_nano;
  const last = (!next || next.state === "unknown") && !state.waker;
  if (last && isNear(end)) return "the capture ends here";
  const told = (thread?.offset_nano ?? 0) + (thread?.duration_nano ?? 0);
  if (last && state.state !== "running" && end >= told) return "what is shown of the thread ends here";
  return item === 0 && isNear(state.offset_nano) ? "the capture begins within it" : undefined;
}

function textOf(state: TimelineState): string {
  if (state.state === "running") return state.cpu === undefined ? "running" : `cpu ${state.cpu}`;
  return state.in ? `${state.state} in ${state.in}` : state.state;
}

export function describeState(state: TimelineState, cut?: string): Description {
  const end = state.offset_nano + state.duration_nano;
  const woken = state.state === "runnable" ? state.offset_nano : end;
  return {
    title: state.state,
    what: state.state === "sleeping" && !state.waker ? NOBODY_KNOWN : STATE_WORDS[state.state],
    begin: state.offset_nano,
    end,
    facts: factsOf(state),
    ...(cut && { cut }),
    ...(state.waker && { waker: state.waker, wokenAt: woken }),
  };
}

function factsOf(state: TimelineState): Fact[] {
  const facts: Fact[] = [];
  if (state.cpu !== undefined) facts.push({ label: "processor", value: String(state.cpu) });
  if (state.in) facts.push({ label: "waits for", value: state.in });
  if (state.preempted) facts.push({ label: "preempted", value: "it would have run on" });
  if (state.throttled) facts.push({ label: "why", value: THROTTLED_WORDS[state.throttled] });
  if (state.guessed && state.state !== "blocked")
    facts.push({ label: "guessed", value: "inferred from a later event, or confirmed by none" });
  return facts;
}

/** The line of a wait: "sleeping 315 ms (guessed) in futex". */
export function waitLine(state: TimelineState): string {
  const guessed = state.guessed ? ` (${state.state === "blocked" ? "beginning not seen" : "guessed"})` : "";
  return `${state.state} ${formatDuration(state.duration_nano)}${guessed}${state.in ? ` in ${state.in}` : ""}`;
}
