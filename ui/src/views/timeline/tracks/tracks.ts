// The kinds of tracks of a thread, from top to bottom. A new kind is its file and its line here.
import { callTrack } from "./calls";
import type { TrackSource } from "./context";
import { eventTrack } from "./events";
import { faultTrack } from "./faults";
import { spanTrack } from "./spans";
import { stateTrack } from "./states";
import type { Track } from "./track";

const KINDS: readonly ((source: TrackSource) => Track | undefined)[] = [
  spanTrack,
  stateTrack,
  callTrack,
  faultTrack,
  eventTrack,
];

export function tracksOf(source: TrackSource): Track[] {
  return KINDS.flatMap((make) => make(source) ?? []);
}
