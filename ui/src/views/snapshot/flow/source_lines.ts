// Which line of source belongs to what is selected, and which piece of its file is asked for: pure.
import type { SnapshotViewRow, SnapshotViewSourceAnswer, SnapshotViewStackAnswer } from "@/api/generated/answers";
import type { Params } from "@/api/ask";
import type { Selection } from "./address";

export interface SourceLine {
  readonly file: string;
  readonly line: number;
  /** Undefined: the instruction's own; else it is where this call of the stack was. */
  readonly function?: string;
  /** Not where it was, which was not seen, but where the function begins. */
  readonly begins?: boolean;
  /** The line is of a function that was inlined here, in the text of the one that the instruction is in. */
  readonly inlinedAt?: Place;
  /** What was inlined at this line. */
  readonly inlined?: Place;
}

interface Place {
  readonly file: string;
  readonly line: number;
}

/** Of the selected call: the line that it was at, which for all but the innermost is the line that called the next. */
export function sourceLine(
  selection: Selection | undefined,
  row: SnapshotViewRow | undefined,
  stack: SnapshotViewStackAnswer | undefined,
): SourceLine | undefined {
  const depth = selection?.depth;
  const inner = depth === undefined ? undefined : stack?.calls[depth + 1];
  const own = depth === undefined ? undefined : stack?.calls[depth];
  if (!inner || !own || stack?.row !== selection?.row) return ownLine(row, depth !== undefined);
  const function_ = stack?.functions[own.function];
  const name = function_?.name ?? "?";
  const called = lineOf(inner.called_from);
  if (called) return { ...called, function: name };
  const begins = lineOf(function_);
  return begins && { ...begins, function: name, begins: true };
}

/** `ofCall`: the call is what was chosen, and not what was inlined into it. */
function ownLine(row: SnapshotViewRow | undefined, ofCall: boolean): SourceLine | undefined {
  const line = lineOf(row);
  if (!line || !row?.inlined_at) return line;
  const inlined = { ...line, inlinedAt: row.inlined_at };
  return ofCall ? outerOf(inlined) : inlined;
}

/** The line that an inlined one is at: what is shown where the other's text is not to be had. */
export function outerOf({ inlinedAt, file, line }: SourceLine): SourceLine | undefined {
  return inlinedAt && { ...inlinedAt, inlined: { file, line } };
}

function lineOf(place: { readonly file?: string; readonly line?: number } | undefined): SourceLine | undefined {
  return place?.file && place.line !== undefined ? { file: place.file, line: place.line } : undefined;
}

/** On each side; the server gives 50 at most. */
const CONTEXT_LINES = 50;
/** So far from the middle of a piece lines are still shown from it. */
const NEAR_LINES = 35;

export interface Piece {
  readonly file: string;
  readonly middle: number;
}

/** The piece before where it still does, so that going from instruction to instruction asks for few. */
export function pieceFor(before: Piece | undefined, { file, line }: SourceLine): Piece {
  if (before?.file === file && Math.abs(line - before.middle) <= NEAR_LINES) return before;
  return { file, middle: line };
}

export function sourceParams({ file, middle }: Piece): Params {
  return { file, line: middle, context: CONTEXT_LINES };
}

export interface ShownLine {
  readonly number: number;
  readonly text: string;
  readonly current: boolean;
}

/** Undefined: the piece has not the line. */
export function shownLines(
  answer: SnapshotViewSourceAnswer | undefined,
  at: SourceLine,
): readonly ShownLine[] | undefined {
  if (!answer || answer.file !== at.file) return undefined;
  const first = answer.first_line ?? 1;
  const lines = answer.lines.map((text, index) => {
    const number = first + index;
    return { number, text, current: number === at.line };
  });
  return lines.some(({ current }) => current) ? lines : undefined;
}
