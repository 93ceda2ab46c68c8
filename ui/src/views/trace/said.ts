// What spans say, side by side: which attributes of a path's spans, or of their resources, have other values in the other
// trace, or in nearly all of the usual ones. Versions and hosts first: they explain most.
import type { TraceAnswer } from "@/api/generated/answers";
import { keysOfNodes, type Side } from "./compare";
import { valueText } from "./values";

export interface Told extends Side {
  readonly answer: TraceAnswer;
}

export interface SaidOtherwise {
  readonly key: string;
  readonly one: string;
  readonly other: string;
  /** In how many of the others the value of this one is, too. */
  readonly shared: number;
}

/** Values of a key, and in how many traces each is. */
type Values = Map<string, number>;
type Said = Map<string, Values>;

const FIRST = ["service.version", "host.name", "deployment.environment", "k8s.pod.name"];
/** A value that more of the others have as well explains nothing. */
const MOST_SHARED = 0.2;

/** For each of the paths. */
export function saidOtherwise(
  one: Told,
  others: readonly Told[],
  paths: ReadonlySet<string>,
): ReadonlyMap<string, readonly SaidOtherwise[]> {
  const here = saidIn([one], paths);
  const there = saidIn(others, paths);
  return new Map([...paths].map((path) => [path, differing(here.get(path), there.get(path), others.length)]));
}

function saidIn(all: readonly Told[], paths: ReadonlySet<string>): Map<string, Said> {
  const found = new Map<string, Said>([...paths].map((path) => [path, new Map()]));
  for (const side of all) {
    const once = new Set<string>();
    const keys = keysOfNodes(side.tree);
    side.tree.nodes.forEach(({ span }, at) => {
      const path = keys[at] ?? "";
      const said = found.get(path);
      if (!span || !said) return;
      const attributes = { ...side.answer.resources[span.resource]?.attributes, ...span.attributes };
      for (const [key, value] of Object.entries(attributes)) count(said, once, path, key, valueText(value));
    });
  }
  return found;
}

function count(said: Said, once: Set<string>, path: string, key: string, value: string): void {
  const name = `${path}\n${key}\n${value}`;
  if (once.has(name)) return;
  once.add(name);
  const values = said.get(key) ?? new Map<string, number>();
  said.set(key, values.set(value, (values.get(value) ?? 0) + 1));
}

function differing(here: Said | undefined, there: Said | undefined, others: number): readonly SaidOtherwise[] {
  if (!here || !there || there.size === 0) return [];
  const found: SaidOtherwise[] = [];
  for (const key of new Set([...here.keys(), ...there.keys()])) {
    const [mine, theirs] = [here.get(key) ?? new Map<string, number>(), there.get(key) ?? new Map<string, number>()];
    const shared = Math.max(0, ...[...mine.keys()].map((value) => theirs.get(value) ?? 0));
    // What is another one in each request (an id) is no difference between slow and usual ones.
    const unlike = others > 2 && theirs.size > others / 2 && [...theirs.values()].every((times) => times === 1);
    const same = mine.size === 0 ? 1 - traces(theirs) / others : shared / others;
    if (same <= MOST_SHARED + 1e-9 && !unlike) found.push({ key, one: textOf(mine), other: textOf(theirs), shared });
  }
  return found.sort(
    (left, right) => rank(left) - rank(right) || left.shared - right.shared || (left.key < right.key ? -1 : 1),
  );
}

function traces(values: Values): number {
  return Math.max(0, ...values.values());
}

function rank({ key }: SaidOtherwise): number {
  const at = FIRST.indexOf(key);
  return at < 0 ? FIRST.length : at;
}

/** "2.3.1", "2.3.1, 2.4.0, …": the most frequent first; "–": it does not say it. */
function textOf(values: Values): string {
  const sorted = [...values].sort(([, few], [, many]) => many - few).map(([value]) => value);
  return sorted.length === 0 ? "–" : sorted.length > 2 ? `${sorted.slice(0, 2).join(", ")}, …` : sorted.join(", ");
}
