// The model of a timeline: its answer as processes, lanes (one per thread) and tracks, in reading order: by the
// time of the first call; threads of the trace come before threads that ended their waits, and these before the
// others.
import { colorsOf } from "@/draw/service_color";
import type { TimelineAnswer, TimelineProcess, TimelineSpan, TimelineThread } from "@/api/generated/answers";
import { captureTrack } from "./tracks/captures";
import type { TrackSource } from "./tracks/context";
import type { Track } from "./tracks/track";
import { tracksOf } from "./tracks/tracks";
import { unknownOfEvents, unknownOfKernel } from "./unknown_parts";
import { endOf, type Viewport } from "@/draw/viewport";

export interface Lane {
  /** Unlike any other's of its process: the thread's id, "?" where it is not known. */
  readonly key: string;
  readonly name: string;
  readonly ofTrace: boolean;
  readonly thread?: TimelineThread;
  readonly tracks: readonly Track[];
}

export interface Trigger {
  readonly at: number;
  readonly why: string;
}

export interface ProcessLanes {
  /** "PID@HOST". */
  readonly key: string;
  readonly process: TimelineProcess;
  readonly captures?: Track;
  readonly triggers: readonly Trigger[];
  readonly lanes: readonly Lane[];
}

export interface Model {
  readonly answer: TimelineAnswer;
  readonly start: bigint;
  /** The trace and what is told of its threads: what "all" shows. */
  readonly whole: Viewport;
  /** Also windows and triggers: as far as one can go. */
  readonly bounds: Viewport;
  readonly processes: readonly ProcessLanes[];
  /** By time. */
  readonly triggers: readonly Trigger[];
}

export function modelOf(answer: TimelineAnswer): Model {
  const whole = unionOf([{ begin: 0, duration: answer.duration_nano }, ...answer.processes.flatMap(extents)]);
  const bounds = unionOf([whole, ...answer.captures.flatMap(windowOf)]);
  const colors = colorsOf(answer.processes.flatMap(servicesOf));
  const processes = withKeys([...answer.processes].sort((one, other) => firstBegin(one) - firstBegin(other))).map(
    ([key, process]) => lanesOf({ answer, colors }, key, process, bounds),
  );
  const triggers = processes.flatMap((process) => process.triggers).sort((one, other) => one.at - other.at);
  return { answer, start: BigInt(answer.start_time_unix_nano), whole, bounds, processes, triggers };
}

function servicesOf({ threads, spans }: TimelineProcess): string[] {
  return [...threads.flatMap((thread) => thread.spans), ...spans].map(({ service }) => service);
}

function extents(process: TimelineProcess): Viewport[] {
  return [...process.threads, ...process.spans].map((one) => ({ begin: one.offset_nano, duration: one.duration_nano }));
}

function windowOf(capture: TimelineAnswer["captures"][number]): Viewport[] {
  if (capture.offset_nano === undefined) return [];
  const trigger = { begin: capture.trigger_offset_nano ?? capture.offset_nano, duration: 0 };
  return [{ begin: capture.offset_nano, duration: capture.duration_nano ?? 0 }, trigger];
}

function unionOf(parts: readonly Viewport[]): Viewport {
  let begin = Infinity;
  let end = -Infinity;
  for (const part of parts) {
    begin = Math.min(begin, part.begin);
    end = Math.max(end, endOf(part));
  }
  return { begin, duration: Math.max(1, end - begin) };
}

function firstBegin(process: TimelineProcess): number {
  let first = Infinity;
  for (const thread of process.threads) first = Math.min(first, spanBegin(thread.spans));
  return Math.min(first, spanBegin(process.spans));
}

function spanBegin(spans: readonly TimelineSpan[]): number {
  return spans.reduce((first, span) => Math.min(first, span.offset_nano), Infinity);
}

function withKeys(processes: readonly TimelineProcess[]): [string, TimelineProcess][] {
  const seen = new Map<string, number>();
  return processes.map((process) => {
    const key = `${process.pid}@${process.host_name}`;
    const times = seen.get(key) ?? 0;
    seen.set(key, times + 1);
    return [times === 0 ? key : `${key}:${times}`, process];
  });
}

type Whole = Pick<TrackSource, "answer" | "colors">;

function lanesOf({ answer, colors }: Whole, key: string, process: TimelineProcess, bounds: Viewport): ProcessLanes {
  const captures = process.captures.flatMap((index) => answer.captures[index] ?? []);
  const readable = captures.filter((capture) => capture.problem === undefined);
  const shared = {
    answer,
    colors,
    service: process.service,
    edges: readable.flatMap(windowOf).flatMap((part) => (part.duration > 0 ? [part.begin, endOf(part)] : [])),
    unknownOfKernel: unknownOfKernel(readable, bounds),
    unknownOfEvents: unknownOfEvents(readable, bounds),
  };
  const track = captureTrack(answer, process);
  const triggers = captures.flatMap(({ trigger_offset_nano: at, reason, trigger }) =>
    at === undefined ? [] : [{ at, why: `${trigger}: ${reason ?? ""}` }],
  );
  const threads = [...process.threads].sort(inReadingOrder).map((thread) => laneOf(shared, thread));
  const lanes = process.spans.length > 0 ? [looseLane(shared, process), ...threads] : threads;
  return { key, process, triggers, lanes, ...(track && { captures: track }) };
}

type Shared = Omit<TrackSource, "thread" | "spans">;

function laneOf(shared: Shared, thread: TimelineThread): Lane {
  const tracks = tracksOf({ ...shared, thread, spans: thread.spans });
  return { key: String(thread.tid), name: laneName(thread), ofTrace: thread.of_trace, thread, tracks };
}

function laneName({ name, not_captured }: TimelineThread): string {
  return name || (not_captured ? "thread (not captured)" : "thread");
}

function looseLane(shared: Shared, process: TimelineProcess): Lane {
  const tracks = tracksOf({ ...shared, thread: undefined, spans: process.spans });
  return { key: "?", name: "thread not known", ofTrace: true, tracks };
}

// Threads without spans keep the server's order: threads that ended waits of the request come first.
function inReadingOrder(one: TimelineThread, other: TimelineThread): number {
  const served = Number(other.of_trace) - Number(one.of_trace);
  if (served !== 0) return served;
  const [first, second] = [spanBegin(one.spans), spanBegin(other.spans)];
  return first === second ? 0 : first - second;
}
