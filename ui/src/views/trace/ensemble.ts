// A request beside many usual ones: per path of operations (compare.ts) what of it is usual, their median and p90.
import { compareTraces, type Amount, type Compared, type Side } from "./compare";

export interface UsualRow extends Compared {
  /** `other` is the median of all of them; of those without the path, 0 counts. */
  readonly p90: Amount;
  /** How many of them have the path. */
  readonly in: number;
}

const NOTHING: Side = {
  tree: {
    ...{ originNano: 0n, durationNano: 0, nodes: [], roots: [], byKey: new Map(), selfNano: new Float64Array() },
    runs: new Map(),
  },
  path: { totalNano: 0, uncoveredNano: 0, root: undefined, pieces: [], ownNano: new Float64Array() },
};

export function compareWithMany(one: Side, many: readonly Side[]): readonly UsualRow[] {
  const rows = new Map(compareTraces(one, NOTHING).map((row) => [row.key, row] as const));
  const found = new Map<string, Amount[]>();
  for (const side of many) {
    for (const row of compareTraces(NOTHING, side)) {
      const known = found.get(row.key);
      if (known) known.push(row.other);
      else found.set(row.key, [row.other]);
      if (!rows.has(row.key)) rows.set(row.key, row);
    }
  }
  return [...rows.values()].map((row) => besideMany(row, found.get(row.key) ?? [], many.length));
}

function besideMany(row: Compared, amounts: readonly Amount[], all: number): UsualRow {
  const other = quantile(amounts, all, 0.5);
  const { one } = row;
  return {
    ...{ key: row.key, service: row.service, operation: row.operation, depth: row.depth, one, other },
    p90: quantile(amounts, all, 0.9),
    in: amounts.length,
    selfNano: one.selfNano - other.selfNano,
    pathNano: one.pathNano - other.pathNano,
    totalNano: one.totalNano - other.totalNano,
    onlyIn: amounts.length === 0 ? "one" : one.spans === 0 ? "other" : undefined,
  };
}

/** Each figure by itself; those that have no such path count as nothing. */
function quantile(amounts: readonly Amount[], all: number, share: number): Amount {
  const of = (figure: keyof Amount) =>
    nearestRank([...amounts.map((amount) => amount[figure]), ...Array<number>(all - amounts.length).fill(0)], share);
  const [spans, errors, totalNano] = [of("spans"), of("errors"), of("totalNano")];
  return { spans, errors, totalNano, selfNano: of("selfNano"), pathNano: of("pathNano") };
}

export function nearestRank(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
