// ItemIndex: one row of items by time, none over another, made so that a picture costs by its pixels and not by its
// items: what is in sight is found by binary search, what falls on one pixel is summed up by prefix sums.
//
// An item has a kind (a small number, which decides its colour). Where many fall on a pixel they are told as one run:
// how many, how much of the pixel's time each kind has (of instants: how many there are of each). Units: nanoseconds
// from the timeline's start. Cost: a run takes O(log items + kinds), a row 8 bytes per item and kind: kinds are few, such as
// states; what has many names (functions) is told by classes of them, and named by its text.
import { endOf, type Viewport } from "@/draw/viewport";

export interface Interval {
  readonly begin: number;
  readonly end: number;
  readonly kind: number;
}

/** What is drawn as one: item `first`, or, merged, all of [first, last). */
export interface Run {
  readonly first: number;
  readonly last: number;
  readonly left: number;
  readonly right: number;
  /** Of a merged run, the kind with the greatest share. */
  readonly kind: number;
  /** How much of the run's time items have, 0 to 1. */
  readonly coverage: number;
}

export class ItemIndex {
  readonly begin: Float64Array;
  readonly end: Float64Array;
  readonly kind: Uint16Array;
  private readonly sums: readonly Float64Array[];

  /** `items` by begin, each begins where the one before it ends or later. `instants`: none has a duration. */
  constructor(
    items: readonly Interval[],
    readonly kinds: number,
    readonly instants = false,
  ) {
    this.begin = Float64Array.from(items, (item) => item.begin);
    this.end = Float64Array.from(items, (item) => item.end);
    this.kind = Uint16Array.from(items, (item) => item.kind);
    this.sums = Array.from({ length: kinds }, () => new Float64Array(items.length + 1));
    items.forEach((item, at) => this.add(item, at));
  }

  private add(item: Interval, at: number): void {
    const weight = this.instants ? 1 : item.end - item.begin;
    this.sums.forEach((sum, kind) => {
      sum[at + 1] = (sum[at] ?? 0) + (kind === item.kind ? weight : 0);
    });
  }

  get length(): number {
    return this.begin.length;
  }
  beginOf(at: number): number {
    return this.begin[at] ?? 0;
  }
  endOf(at: number): number {
    return this.end[at] ?? 0;
  }

  /** The first that begins at `nano` or later. */
  firstFrom(nano: number, low = 0): number {
    return lowerBound(this.begin, nano, low);
  }
  /** The first that ends after `nano`; an instant counts at its own moment. */
  firstOver(nano: number): number {
    if (this.instants) return this.firstFrom(nano);
    const at = Math.max(0, this.firstFrom(nano) - 1);
    return at < this.length && this.endOf(at) <= nano ? at + 1 : at;
  }

  /** How much time each kind has in [first, last); of instants, how many there are. */
  shares(first: number, last: number): number[] {
    return this.sums.map((sum) => (sum[last] ?? 0) - (sum[first] ?? 0));
  }
  share(kind: number, first: number, last: number): number {
    const sum = this.sums[kind];
    return sum ? (sum[last] ?? 0) - (sum[first] ?? 0) : 0;
  }

  /** What is to be drawn of `view` on `width` pixels, from left to right: at most some two runs per pixel. */
  forEachRun(view: Viewport, width: number, emit: (run: Run) => void): void {
    const scale = width / view.duration;
    const end = endOf(view);
    for (let at = this.firstOver(view.begin); at < this.length && this.beginOf(at) <= end; ) {
      const run = this.runFrom(at, view, scale);
      emit(run);
      at = run.last;
    }
  }

  private runFrom(at: number, view: Viewport, scale: number): Run {
    const left = (this.beginOf(at) - view.begin) * scale;
    const right = (this.endOf(at) - view.begin) * scale;
    const column = Math.floor(left);
    if (right > column + 1) return this.single(at, left, right);
    let last = this.firstFrom(view.begin + (column + 1) / scale, at + 1);
    // One that goes on beyond the pixel is drawn by itself.
    if (last - 1 > at && (this.endOf(last - 1) - view.begin) * scale > column + 2) --last;
    return last === at + 1 ? this.single(at, left, right) : this.merged(at, last, column, scale);
  }

  private single(at: number, left: number, right: number): Run {
    return { first: at, last: at + 1, left, right, kind: this.kind[at] ?? 0, coverage: 1 };
  }

  private merged(first: number, last: number, column: number, scale: number): Run {
    let kind = 0;
    let most = -1;
    let all = 0;
    for (let each = 0; each < this.kinds; ++each) {
      const share = this.share(each, first, last);
      all += share;
      if (share > most) [kind, most] = [each, share];
    }
    const coverage = this.instants ? 1 : Math.min(1, all * scale);
    return { first, last, left: column, right: column + 1, kind, coverage };
  }

  /** What is drawn at `pixel`; of several that touch it, the merged one, else the nearest within `reach` pixels. */
  runAt(view: Viewport, width: number, pixel: number, reach = 3): Run | undefined {
    const scale = width / view.duration;
    const nano = (pixels: number) => view.begin + pixels / scale;
    let best: Run | undefined;
    let nearest = reach;
    const from = Math.floor(pixel - reach);
    for (let at = this.firstOver(nano(from)); at < this.length && this.beginOf(at) <= nano(pixel + reach); ) {
      const run = this.runFrom(at, view, scale);
      const away = Math.max(run.left - pixel, pixel - Math.max(run.right, run.left + 1), 0);
      if (away < nearest || (best === undefined && away <= reach)) [best, nearest] = [run, away];
      at = run.last;
    }
    return best;
  }

  longest(first: number, last: number): number {
    let best = first;
    for (let at = first + 1; at < last; ++at) {
      if (this.endOf(at) - this.beginOf(at) > this.endOf(best) - this.beginOf(best)) best = at;
    }
    return best;
  }

  /** The item that lasts at `nano`, else the nearest; undefined: there is none at all. */
  nearest(nano: number): number | undefined {
    if (this.length === 0) return undefined;
    const after = Math.min(this.firstOver(nano), this.length - 1);
    const before = Math.max(0, after - 1);
    const away = (at: number) => Math.max(this.beginOf(at) - nano, nano - this.endOf(at), 0);
    return away(before) < away(after) ? before : after;
  }
}

export function lowerBound(sorted: Float64Array, value: number, low = 0): number {
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? Infinity) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
