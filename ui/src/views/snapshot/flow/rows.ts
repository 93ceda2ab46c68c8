// Pages of the instruction list, and what of a row is said again: pure.
import type { SnapshotViewFunction, SnapshotViewRow, SnapshotViewRowsAnswer } from "@/api/generated/answers";

export const PAGE_ROWS = 256;

export interface Page {
  readonly firstRow: number;
  readonly rows: readonly SnapshotViewRow[];
  readonly functions: readonly SnapshotViewFunction[];
}

export function pageOf(answer: SnapshotViewRowsAnswer): Page {
  return { firstRow: answer.first_row, rows: answer.rows, functions: answer.functions };
}

export function pageKey(row: number): string {
  return String(Math.floor(row / PAGE_ROWS));
}

/** Those in sight first, then the one behind and the one before. */
export function wantedPages(first: number, end: number, total: number): readonly string[] {
  if (total <= 0) return [];
  const page = (row: number) => Math.floor(Math.min(Math.max(0, row), total - 1) / PAGE_ROWS);
  const [low, high] = [page(first), page(end - 1)];
  const seen = Array.from({ length: Math.max(0, high - low + 1) }, (_, at) => low + at);
  const beside = [page(end - 1 + PAGE_ROWS / 2), page(first - PAGE_ROWS / 2)];
  return [...new Set([...seen, ...beside])].map(String);
}

/** A row as it is shown. `before` is the row above it, where that is known. */
export interface ShownRow {
  readonly row: SnapshotViewRow;
  readonly function: SnapshotViewFunction | undefined;
  /** Another line of source than the row above, or another function. */
  readonly newLine: boolean;
  readonly newFunction: boolean;
  readonly newTime: boolean;
}

export function rowIn(pageAt: (key: string) => Page | undefined, row: number): ShownRow | undefined {
  const page = pageAt(pageKey(row));
  const found = page?.rows[row - page.firstRow];
  if (!page || !found) return undefined;
  const own = found.function === undefined ? undefined : page.functions[found.function];
  const above = row > 0 ? plainRow(pageAt, row - 1) : undefined;
  if (!above) return { row: found, function: own, newLine: true, newFunction: true, newTime: true };
  const newFunction = above.function?.name !== own?.name;
  const newLine = newFunction || above.row.line !== found.line || above.row.file !== found.file;
  return { row: found, function: own, newLine, newFunction, newTime: above.row.offset !== found.offset };
}

function plainRow(pageAt: (key: string) => Page | undefined, row: number) {
  const page = pageAt(pageKey(row));
  const found = page?.rows[row - page.firstRow];
  if (!page || !found) return undefined;
  return { row: found, function: found.function === undefined ? undefined : page.functions[found.function] };
}

/** "mov" apart from "eax, 1": the first is what the eye looks for. */
export function mnemonicOf(text: string): { mnemonic: string; operands: string } {
  const prefixed = /^((?:lock|rep[nz]?e?|bnd|notrack|data16|xacquire|xrelease) )?\S+/.exec(text)?.[0] ?? text;
  return { mnemonic: prefixed, operands: text.slice(prefixed.length).trim() };
}

/** What kinds of rows look like; "call" and "return" are instructions that are looked for often. */
export function rowClass({ kind, text }: SnapshotViewRow): string {
  if (kind !== "instruction") return `flow-row-${kind}`;
  if (/^(bnd |notrack )?(call|syscall|sysenter)\b/.test(text)) return "flow-row-call";
  if (/^(bnd |rep |repz )?i?ret/.test(text)) return "flow-row-return";
  return "";
}
