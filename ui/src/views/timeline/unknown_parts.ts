// Unknown parts: where a process's recorders may have overwritten something, and where nothing was captured of it. A
// picture that leaves these blank would say that nothing happened there.
import type { TimelineCapture } from "@/api/generated/answers";
import type { Model } from "./model";
import type { Lasting } from "./nesting";
import { endOf, type Viewport } from "@/draw/viewport";

export interface UnknownPart extends Lasting {
  readonly why: string;
  /** No capture's window has it. */
  readonly outside: boolean;
}

interface Window extends Lasting {
  /** Undefined: not complete anywhere. */
  readonly completeFrom: number | undefined;
  readonly why: string;
}

const OUTSIDE = "no capture covers this time: nothing is known of what threads did";
const OVERWRITTEN = "the recorder may have overwritten something here";

/** Of what the kernel said: states, system calls, page faults. */
export function unknownOfKernel(captures: readonly TimelineCapture[], bounds: Viewport): UnknownPart[] {
  const windows = captures.map((capture) =>
    windowOf(capture, capture.kernel_complete_from_offset_nano, capture.kernel_missing),
  );
  return partsOf(bounds, windows);
}

/** Of what the program said: its events. */
export function unknownOfEvents(captures: readonly TimelineCapture[], bounds: Viewport): UnknownPart[] {
  return partsOf(
    bounds,
    captures.map((capture) => windowOf(capture, capture.events_complete_from_offset_nano, undefined)),
  );
}

function windowOf(capture: TimelineCapture, completeFrom: number | undefined, missing: string | undefined): Window {
  const begin = capture.offset_nano ?? 0;
  const end = begin + (capture.duration_nano ?? 0);
  const why =
    completeFrom === undefined ? `nothing of the kernel was recorded: ${missing || "not known why"}` : OVERWRITTEN;
  return { begin, end, completeFrom, why };
}

function partsOf(bounds: Viewport, windows: readonly Window[]): UnknownPart[] {
  const edges = [
    bounds.begin,
    endOf(bounds),
    ...windows.flatMap((one) => [one.begin, one.end, one.completeFrom ?? one.end]),
  ]
    .filter((edge) => edge >= bounds.begin && edge <= endOf(bounds))
    .sort((one, other) => one - other);
  const parts: UnknownPart[] = [];
  edges.forEach((begin, at) => {
    const end = edges[at + 1];
    const part = end !== undefined && end > begin ? partAt(begin, end, windows) : undefined;
    if (part) join(parts, part);
  });
  return parts;
}

function partAt(begin: number, end: number, windows: readonly Window[]): UnknownPart | undefined {
  const over = windows.filter((one) => one.begin <= begin && one.end >= end);
  if (over.some((one) => one.completeFrom !== undefined && one.completeFrom <= begin)) return undefined;
  const first = over[0];
  return { begin, end, why: first?.why ?? OUTSIDE, outside: !first };
}

function join(parts: UnknownPart[], part: UnknownPart): void {
  const last = parts[parts.length - 1];
  if (last && last.end === part.begin && last.why === part.why) parts[parts.length - 1] = { ...last, end: part.end };
  else parts.push(part);
}

export function partOver(parts: readonly UnknownPart[], nano: number): UnknownPart | undefined {
  return parts.find((part) => part.begin <= nano && nano < part.end);
}

/** Why of a stretch of a lane not all states are known, each reason once. */
export function whyUnknownIn(model: Model, { processKey, laneKey }: Whose, begin: number, end: number): string[] {
  const lane = model.processes.find(({ key }) => key === processKey)?.lanes.find(({ key }) => key === laneKey);
  const states = lane?.tracks.find(({ kind }) => kind === "states");
  const parts = (states?.unknown ?? []).filter((part) => part.begin < end && part.end > begin);
  return [...new Set(parts.map(({ why }) => why))];
}

export interface Reason {
  readonly why: string;
  /** Each once, by time: mostly several tracks lack the same. */
  readonly parts: readonly Lasting[];
}

/** All that is hatched, by its reasons. */
export function whyHatched({ processes }: Pick<Model, "processes">): Reason[] {
  const byWhy = new Map<string, Map<string, Lasting>>();
  const tracks = processes.flatMap(({ lanes }) => lanes).flatMap((lane) => lane.tracks);
  for (const { why, begin, end } of tracks.flatMap(({ unknown }) => unknown)) {
    const parts = byWhy.get(why) ?? new Map<string, Lasting>();
    byWhy.set(why, parts.set(`${begin} ${end}`, { begin, end }));
  }
  return [...byWhy].map(([why, parts]) => ({
    why,
    parts: [...parts.values()].sort((one, other) => one.begin - other.begin),
  }));
}

interface Whose {
  readonly processKey: string;
  readonly laneKey: string;
}
