// Layout: where processes, lanes and tracks are, from top to bottom, in CSS pixels. Pure: drawing, the pointer, the
// keys and the labels beside the picture all ask it.
import type { Lane, Model, ProcessLanes } from "./model";
import type { Track } from "./tracks/track";

export const PROCESS_HEAD = 28;
const LANE_ROOM = 6;
const LEAST_LANE = 22;

export interface Strip {
  readonly processKey: string;
  /** "": of the process itself. */
  readonly laneKey: string;
  readonly track: Track;
  readonly top: number;
}

interface Box {
  readonly top: number;
  readonly height: number;
}

export interface LaneBox extends Box {
  readonly processKey: string;
  readonly lane: Lane;
}

export interface ProcessBox extends Box {
  readonly lanes: ProcessLanes;
  readonly folded: boolean;
}

export interface Layout {
  readonly height: number;
  readonly processes: readonly ProcessBox[];
  readonly lanes: readonly LaneBox[];
  readonly strips: readonly Strip[];
}

export function layOut(model: Model, folded: ReadonlySet<string>): Layout {
  const processes: ProcessBox[] = [];
  const lanes: LaneBox[] = [];
  const strips: Strip[] = [];
  let top = 0;
  for (const process of model.processes) {
    const isFolded = folded.has(process.key);
    const begin = top;
    top = placeHead(process, top, strips);
    for (const lane of isFolded ? [] : process.lanes) {
      const height = placeLane(process.key, lane, top, strips);
      lanes.push({ processKey: process.key, lane, top, height });
      top += height;
    }
    processes.push({ lanes: process, folded: isFolded, top: begin, height: top - begin });
  }
  return { height: top, processes, lanes, strips };
}

function placeHead(process: ProcessLanes, top: number, strips: Strip[]): number {
  if (process.captures) {
    strips.push({ processKey: process.key, laneKey: "", track: process.captures, top: top + LANE_ROOM });
  }
  return top + Math.max(PROCESS_HEAD, (process.captures?.height ?? 0) + 2 * LANE_ROOM);
}

function placeLane(processKey: string, lane: Lane, begin: number, strips: Strip[]): number {
  let top = begin + LANE_ROOM / 2;
  for (const track of lane.tracks) {
    strips.push({ processKey, laneKey: lane.key, track, top });
    top += track.height;
  }
  return Math.max(LEAST_LANE, top + LANE_ROOM / 2 - begin);
}

/** Those that show themselves between `top` and `top + height`. */
export function within<T extends Box>(boxes: readonly T[], top: number, height: number): T[] {
  return boxes.filter((box) => box.top < top + height && box.top + box.height > top);
}

export function stripAt(layout: Layout, down: number): Strip | undefined {
  return layout.strips.find((strip) => down >= strip.top && down < strip.top + strip.track.height);
}

export function stripOf(layout: Layout, processKey: string, laneKey: string, kind: string): Strip | undefined {
  return layout.strips.find(
    (strip) => strip.processKey === processKey && strip.laneKey === laneKey && strip.track.kind === kind,
  );
}

/** Whose strip it is. */
export function partsOfLayout(layout: Layout, strip: Strip): { process?: ProcessLanes; lane?: Lane } {
  const process = layout.processes.find(({ lanes }) => lanes.key === strip.processKey)?.lanes;
  const lane = process?.lanes.find(({ key }) => key === strip.laneKey);
  return { ...(process && { process }), ...(lane && { lane }) };
}
