// What a kind of track is made from.
import type { TimelineAnswer, TimelineGap, TimelineItems, TimelineSpan, TimelineThread } from "@/api/generated/answers";
import type { ServiceColors } from "@/draw/service_color";
import type { Lasting } from "../nesting";
import type { UnknownPart } from "../unknown_parts";

export interface TrackSource {
  readonly answer: TimelineAnswer;
  readonly service: string;
  readonly colors: ServiceColors;
  /** Undefined: spans of a process whose thread is not known. */
  readonly thread: TimelineThread | undefined;
  readonly spans: readonly TimelineSpan[];
  readonly unknownOfKernel: readonly UnknownPart[];
  readonly unknownOfEvents: readonly UnknownPart[];
  /** Begins and ends of the windows that were captured. */
  readonly edges: readonly number[];
}

export interface Offset {
  readonly offset_nano: number;
  readonly duration_nano?: number;
}

/** By begin, as a row needs them. */
export function byBegin<T extends Offset>(items: readonly T[]): T[] {
  return [...items].sort((one, other) => one.offset_nano - other.offset_nano);
}

export function lasting<T extends Offset>(item: T): Lasting & { readonly item: T } {
  return { begin: item.offset_nano, end: item.offset_nano + Math.max(0, item.duration_nano ?? 0), item };
}

/** What is not known, and what was left out beyond the limit. */
export function unknownWithGaps(
  unknown: readonly UnknownPart[],
  gaps: readonly TimelineGap[] | undefined,
  items: TimelineItems,
) {
  const left = (gaps ?? []).filter((gap) => gap.items === items).map(gapPart);
  return [...left, ...unknown];
}

function gapPart(gap: TimelineGap): UnknownPart {
  return {
    begin: gap.offset_nano,
    end: gap.offset_nano + gap.duration_nano,
    why: `${gap.count.toLocaleString("en")} left out here: beyond the limit of items`,
    outside: false,
  };
}

/** Whether there is anything to tell of a thread, be it that all was left out. */
export function hasAny(thread: TimelineThread, items: TimelineItems): boolean {
  return thread[items].length > 0 || (thread.gaps ?? []).some((gap) => gap.items === items);
}
