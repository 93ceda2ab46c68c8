// Shapes of small pictures: histograms, and the rings of a sunburst: pure.
import type { SnapshotFunctionRow, SnapshotRing } from "@/api/generated/answers";

export interface Column {
  readonly low: number;
  readonly high: number;
  readonly count: number;
}

/** At most `most` columns: neighbours are put together, so that a row of a table has room for them. */
export function columnsOf(bars: readonly Column[], most: number): readonly Column[] {
  const each = Math.max(1, Math.ceil(bars.length / most));
  const columns: Column[] = [];
  for (let at = 0; at < bars.length; at += each) {
    const group = bars.slice(at, at + each);
    const [first, last] = [group[0], group[group.length - 1]];
    if (!first || !last) continue;
    const count = group.reduce((sum, bar) => sum + bar.count, 0);
    columns.push({ low: first.low, high: last.high, count });
  }
  return columns;
}

/** Buckets that are empty are not told; without them the picture's axis would have no scale. On a logarithmic one. */
export function columnsOfBuckets({ buckets }: SnapshotFunctionRow["took"], most: number): readonly Column[] {
  const [first, last] = [buckets[0], buckets[buckets.length - 1]];
  if (!first || !last) return [];
  const low = Math.max(1, first.above);
  const step = Math.max(Math.log(Math.max(low + 1, last.up_to) / low) / most, 1e-9);
  const edge = (at: number) => low * Math.exp(step * at);
  const columns = Array.from({ length: most }, (_, at) => ({ low: edge(at), high: edge(at + 1), count: 0 }));
  for (const { above, up_to: upTo, count } of buckets) {
    const middle = Math.max(1, (above + upTo) / 2);
    const column = columns[Math.min(most - 1, Math.max(0, Math.floor(Math.log(middle / low) / step)))];
    if (column) column.count += count;
  }
  return columns;
}

export const RADIUS = 300;

/** As many rings as there are have room in the circle. */
export function ringPixels(rings: readonly SnapshotRing[]): number {
  return RADIUS / (Math.max(0, ...rings.map(({ ring }) => ring)) + 1);
}

/** An arc of a ring as a path around 0, 0; the innermost is a disc. */
export function arcPath({ ring, from, to }: SnapshotRing, pixels: number): string {
  const [inner, outer] = [ring * pixels, (ring + 1) * pixels - 1];
  // A whole circle would be no arc: its ends are the same.
  const end = Math.min(to, from + 0.9998);
  const point = (radius: number, turn: number) =>
    `${(radius * Math.sin(2 * Math.PI * turn)).toFixed(2)} ${(-radius * Math.cos(2 * Math.PI * turn)).toFixed(2)}`;
  const large = end - from > 0.5 ? 1 : 0;
  const back = inner === 0 ? "L 0 0" : `L ${point(inner, end)} A ${inner} ${inner} 0 ${large} 0 ${point(inner, from)}`;
  return `M ${point(outer, from)} A ${outer} ${outer} 0 ${large} 1 ${point(outer, end)} ${back} Z`;
}

export interface Extent {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** What the arcs take up: one deep stack of calls would leave most of the circle empty. */
export function extentOf(rings: readonly SnapshotRing[], pixels: number): Extent {
  const [xs, ys]: [number[], number[]] = [[], []];
  for (const { ring, from, to } of rings) {
    const quarters = [0.25, 0.5, 0.75, 1].filter((turn) => from < turn && turn < to);
    for (const turn of [from, to, ...quarters]) {
      xs.push((ring + 1) * pixels * Math.sin(2 * Math.PI * turn));
      ys.push(-(ring + 1) * pixels * Math.cos(2 * Math.PI * turn));
    }
  }
  const [left, top] = [Math.min(-pixels, ...xs), Math.min(-pixels, ...ys)];
  return { left, top, width: Math.max(pixels, ...xs) - left, height: Math.max(pixels, ...ys) - top };
}

export interface RingLabel {
  readonly x: number;
  readonly y: number;
  /** Degrees: along the ring, never upside down. */
  readonly turn: number;
  /** How many letters have room. */
  readonly letters: number;
}

const LETTER_PIXELS = 6;
const LETTER_HEIGHT = 9;
const LEAST_LETTERS = 5;

/**
 * Where an arc's name is written: across its middle, where there is room for some letters. `scale`: pixels of the screen
 * for one of the picture; letters are as large on any screen.
 */
export function labelOf({ ring, from, to }: SnapshotRing, pixels: number, scale = 1): RingLabel | undefined {
  const [letter, tall] = [LETTER_PIXELS / scale, LETTER_HEIGHT / scale];
  if (ring === 0 || pixels < tall + 2 / scale) return undefined;
  const radius = (ring + 0.5) * pixels;
  const middle = (from + to) / 2;
  // A straight line of letters leaves the ring where that bends away by more than is left above and below them.
  const straight = Math.sqrt(8 * radius * (pixels - tall));
  const across = Math.min((to - from) * 2 * Math.PI * radius * 0.92, straight);
  const letters = Math.floor(across / letter);
  if (letters < LEAST_LETTERS) return undefined;
  const degrees = middle * 360;
  const turn = degrees > 90 && degrees < 270 ? degrees - 180 : degrees;
  const angle = 2 * Math.PI * middle;
  return { x: radius * Math.sin(angle), y: -radius * Math.cos(angle), turn, letters };
}

export type RingMove = "in" | "out" | "next" | "previous";

/** From ring to ring by key; the same one where there is no other. */
export function ringBeside(rings: readonly SnapshotRing[], at: SnapshotRing, move: RingMove): SnapshotRing {
  if (move === "in") return rings.find(({ parent }) => parent === at.id) ?? at;
  if (move === "out") return rings.find(({ id }) => id === at.parent) ?? at;
  const same = rings.filter(({ ring }) => ring === at.ring).sort((one, other) => one.from - other.from);
  const index = same.findIndex(({ id }) => id === at.id);
  return same[(index + (move === "next" ? 1 : same.length - 1)) % same.length] ?? at;
}

/** "+120", "−7", "": how the second differs from the first. */
export function changeText(first: number, second: number): string {
  if (first === second) return "";
  const by = Math.abs(second - first).toLocaleString("en");
  return second > first ? `+${by}` : `−${by}`;
}
