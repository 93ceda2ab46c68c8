// Viewport: which part of a timeline is in sight: nanoseconds from the timeline's start, as numbers.
//
// Offsets are whole numbers below 2^53, so that a difference of two is exact; a picture's place is told from the
// difference, never from the sum, so that a nanosecond is as sharp an hour after the start as at it.

export interface Viewport {
  readonly begin: number;
  readonly duration: number;
}

/** Twenty nanoseconds across the screen: nothing that is recorded is finer. */
export const SHORTEST_NANO = 20;

export function endOf(view: Viewport): number {
  return view.begin + view.duration;
}

export function pixelOf(view: Viewport, width: number, nano: number): number {
  return ((nano - view.begin) / view.duration) * width;
}

export function nanoOf(view: Viewport, width: number, pixel: number): number {
  return view.begin + (pixel / Math.max(1, width)) * view.duration;
}

/** `share` of the width stays where it is: what is below the pointer. */
export function zoomed(view: Viewport, factor: number, share: number, bounds: Viewport): Viewport {
  const duration = Math.min(Math.max(view.duration * factor, SHORTEST_NANO), widest(bounds));
  return kept({ begin: view.begin + (view.duration - duration) * share, duration }, bounds);
}

export function panned(view: Viewport, nano: number, bounds: Viewport): Viewport {
  return kept({ begin: view.begin + nano, duration: view.duration }, bounds);
}

/** A view of all of `bounds`, or of one item, with a little room on both sides. */
export function fitted(item: Viewport, room = 0.02): Viewport {
  const duration = Math.max(item.duration * (1 + 2 * room), SHORTEST_NANO);
  return { begin: item.begin + item.duration / 2 - duration / 2, duration };
}

/** The same scale, moved as little as needed so that [begin, end] is in sight, or its begin where it is too long. */
export function showing(view: Viewport, begin: number, end: number, bounds: Viewport): Viewport {
  const room = view.duration * 0.1;
  const outside = end < view.begin + room / 2 || begin > endOf(view) - room / 2;
  if (!outside) return view;
  const target = begin < view.begin || end - begin > view.duration ? begin - room : end + room - view.duration;
  return kept({ begin: target, duration: view.duration }, bounds);
}

function widest(bounds: Viewport): number {
  return Math.max(bounds.duration * 1.5, SHORTEST_NANO);
}

// Some of what there is stays in sight.
function kept(view: Viewport, bounds: Viewport): Viewport {
  const least = bounds.begin - view.duration * 0.5;
  const most = endOf(bounds) - view.duration * 0.5;
  return { begin: Math.min(Math.max(view.begin, least), Math.max(most, least)), duration: view.duration };
}

/** "-2500~1000000": begin and duration, as the address has them. */
export function formatViewport(view: Viewport): string {
  const digits = view.duration < 10_000 ? 3 : 0;
  const text = (nano: number) => String(Number(nano.toFixed(digits)));
  return `${text(view.begin)}~${text(view.duration)}`;
}

export function parseViewport(text: string | undefined): Viewport | undefined {
  const [begin, duration, more] = (text ?? "").split("~").map(Number);
  if (begin === undefined || duration === undefined || more !== undefined) return undefined;
  if (!Number.isFinite(begin) || !(duration >= SHORTEST_NANO) || duration === Infinity) return undefined;
  return { begin, duration };
}
