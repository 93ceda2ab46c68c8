// What the critical path consists of, by operation: the short answer to "why was this slow".
import type { CriticalPath } from "./criticalPath";
import type { TraceTree } from "./tree";

export interface Contribution {
  readonly service: string;
  readonly operation: string;
  /** Own time on the path of all its spans. */
  readonly ownNano: number;
  /** Of the whole path, 0 to 1. */
  readonly share: number;
  /** How many of its spans are on the path, and how many there are. */
  readonly onPath: number;
  readonly spans: number;
  /** The one that adds most. */
  readonly greatest: number;
}

export function shareOf(path: CriticalPath, nano: number): number {
  return path.totalNano > 0 ? nano / path.totalNano : 0;
}

/** Greatest first; operations that add nothing are not in it. */
export function contributions(tree: TraceTree, path: CriticalPath): readonly Contribution[] {
  const found = new Map<string, { -readonly [Key in keyof Contribution]: Contribution[Key] }>();
  for (const { span, index } of tree.nodes) {
    if (!span) continue;
    const { service, operation } = span;
    const key = `${service}\n${operation}`;
    const own = path.ownNano[index] ?? 0;
    const known = found.get(key) ?? { service, operation, ownNano: 0, share: 0, onPath: 0, spans: 0, greatest: index };
    if (own > (path.ownNano[known.greatest] ?? 0)) known.greatest = index;
    known.spans += 1;
    known.onPath += own > 0 ? 1 : 0;
    known.ownNano += own;
    found.set(key, known);
  }
  return [...found.values()]
    .filter((one) => one.ownNano > 0)
    .map((one) => ({ ...one, share: shareOf(path, one.ownNano) }))
    .sort((one, other) => other.ownNano - one.ownNano || one.greatest - other.greatest);
}

/** "7 %", "0.4 %"; "< 0.1 %" of what is there at all. */
export function percent(share: number): string {
  if (share > 0 && share < 0.001) return "< 0.1 %";
  const text = share >= 0.1 ? (share * 100).toFixed(0) : (share * 100).toFixed(1);
  return `${text.replace(/\.0$/, "")} %`;
}
