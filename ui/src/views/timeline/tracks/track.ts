// Track: one kind of what is told of a thread (or of a process), drawn as rows of items below each other.
//
// A new kind (function intervals, locks, samples) is one file that makes a Track, and its line in tracks.ts; lanes,
// keys, the pointer, the address and the details know tracks by this interface alone (ui/README.md says how). Items of a row are an ItemIndex;
// units are nanoseconds from the timeline's start and CSS pixels.
import type { MoreWaits, StateTotals, TimelineState, TimelineWaker, WaitSum } from "@/api/generated/answers";
import type { ItemIndex, Run } from "../item_index";
import type { Palette } from "../palette";
import type { UnknownPart } from "../unknown_parts";
import type { Viewport } from "@/draw/viewport";

export interface Pen {
  readonly context: CanvasRenderingContext2D;
  readonly view: Viewport;
  readonly width: number;
  readonly palette: Palette;
}

/** An item of a track; of a run that is merged, what it stands for. */
export interface Spot {
  readonly row: number;
  readonly item: number;
}

export interface Hit extends Spot {
  readonly run: Run;
}

export interface Waits {
  readonly sums: readonly WaitSum[];
  readonly more?: MoreWaits;
  /** The server did not add up the waits, because there are too many. */
  readonly leftOut: boolean;
}

export interface Fact {
  readonly label: string;
  readonly value: string;
  readonly href?: string;
}

export interface Description {
  readonly title: string;
  /** What it is, for people: "waits for a processor". */
  readonly what: string;
  readonly begin: number;
  readonly end: number;
  readonly facts: readonly Fact[];
  /** Why it lasted longer than is told: "the capture ends here". */
  readonly cut?: string;
  readonly totals?: StateTotals;
  readonly longestWait?: TimelineState;
  /** Sums of equal waits, and the number of waits that they leave out. */
  readonly waits?: Waits;
  readonly waker?: TimelineWaker;
  /** When the waker woke. */
  readonly wokenAt?: number;
}

export interface Track {
  /** As the address has it, unlike any other's: "states". */
  readonly kind: string;
  /** Beside the lane: "states". */
  readonly label: string;
  /** Of one: "state". */
  readonly one: string;
  /** What one finds one's way by: keys begin there, the overview draws it, its lane's name stands above it. */
  readonly isMain?: boolean;
  readonly rows: readonly ItemIndex[];
  readonly rowHeight: number;
  readonly height: number;
  /** What is not known here; drawn hatched, and told. */
  readonly unknown: readonly UnknownPart[];
  readonly draw: (pen: Pen, top: number) => void;
  /** `down`: pixels from the track's top. */
  readonly hit: (view: Viewport, width: number, across: number, down: number) => Hit | undefined;
  readonly describe: (spot: Spot) => Description;
  /** What items of this kind (of the index) are called: for what is merged. */
  readonly kindName: (kind: number) => string;
}
