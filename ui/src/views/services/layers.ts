// Layers: a directed graph drawn from left to right, callers before whom they call. Pure: names in, places out.
//
// Edges that close a cycle are turned around for the layout only. A service lies one layer behind its furthest caller
// (the longest path); within a layer, services are ordered so that few edges cross (barycentres, a few sweeps). The
// same graph always gives the same drawing, whatever order it comes in.

export interface Link {
  readonly from: string;
  readonly to: string;
}

export interface Layers {
  /** From left to right; each from top to bottom. Names that begin with "\0" are where long edges pass. */
  readonly layers: readonly (readonly string[])[];
  /** For each link that is not a loop, in the given order: the names that it goes along, both ends included. */
  readonly paths: readonly (readonly string[])[];
}

/** `layerOf`: where each lies, where that is not to be found out from the links. */
export function layered(
  names: readonly string[],
  links: readonly Link[],
  layerOf?: ReadonlyMap<string, number>,
): Layers {
  const sortedNames = [...names].sort();
  const forward = layerOf ? rightwards(links, layerOf) : acyclic(sortedNames, links);
  const depth = layerOf ?? depths(sortedNames, forward);
  const { layers, paths } = withPasses(sortedNames, forward, depth);
  const turned = new Map(forward.map((link, at) => [keyOf(link), paths[at] ?? []]));
  return {
    layers: ordered(layers, paths),
    paths: links.map(
      (link) => turned.get(keyOf(link)) ?? [...(turned.get(`${link.to}\n${link.from}`) ?? [])].reverse(),
    ),
  };
}

function keyOf({ from, to }: Link): string {
  return `${from}\n${to}`;
}

/** Each link once, without loops, those that go back turned around (and left out where the other way is there, too). */
export function acyclic(names: readonly string[], links: readonly Link[]): Link[] {
  const next = adjacency(links);
  const called = new Set(links.filter(({ from, to }) => from !== to).map(({ to }) => to));
  const state = new Map<string, "open" | "done">();
  const kept = new Map<string, Link>();
  const keep = (link: Link): unknown => kept.set(keyOf(link), link);
  const visit = (name: string): void => {
    state.set(name, "open");
    for (const to of next.get(name) ?? []) {
      if (to === name) continue;
      if (state.get(to) === "open") keep({ from: to, to: name });
      else keep({ from: name, to });
      if (!state.has(to)) visit(to);
    }
    state.set(name, "done");
  };
  // From those whom nobody calls: what they reach is reached in the direction of the calls.
  for (const name of names) if (!called.has(name)) visit(name);
  for (const name of names) if (!state.has(name)) visit(name);
  return [...kept.values()];
}

function rightwards(links: readonly Link[], layerOf: ReadonlyMap<string, number>): Link[] {
  const back = ({ from, to }: Link) => (layerOf.get(from) ?? 0) > (layerOf.get(to) ?? 0);
  const turned = links
    .filter(({ from, to }) => layerOf.get(from) !== layerOf.get(to))
    .map((link) => (back(link) ? { from: link.to, to: link.from } : link));
  return [...new Map(turned.map((link) => [keyOf(link), link])).values()];
}

function adjacency(links: readonly Link[]): Map<string, string[]> {
  const next = new Map<string, string[]>();
  for (const { from, to } of links) {
    const known = next.get(from);
    if (known) known.push(to);
    else next.set(from, [to]);
  }
  for (const list of next.values()) list.sort();
  return next;
}

/** The length of the longest path that leads to each. */
export function depths(names: readonly string[], links: readonly Link[]): Map<string, number> {
  const callers = adjacency(links.map(({ from, to }) => ({ from: to, to: from })));
  const depth = new Map<string, number>();
  const of = (name: string): number => {
    const known = depth.get(name);
    if (known !== undefined) return known;
    const found = (callers.get(name) ?? []).reduce((most, caller) => Math.max(most, of(caller) + 1), 0);
    depth.set(name, found);
    return found;
  };
  for (const name of names) of(name);
  return depth;
}

// A link over several layers passes each at a place of its own, so that no service lies on it.
function withPasses(names: readonly string[], links: readonly Link[], depth: ReadonlyMap<string, number>) {
  const layers: string[][] = Array.from({ length: 1 + Math.max(-1, ...depth.values()) }, () => []);
  const put = (name: string, layer: number): void => {
    (layers[layer] ??= []).push(name);
  };
  for (const name of names) put(name, depth.get(name) ?? 0);
  const paths = links.map((link) => {
    const [begin, end] = [depth.get(link.from) ?? 0, depth.get(link.to) ?? 0];
    const passes = Array.from({ length: end - begin - 1 }, (_, at) => `\0${keyOf(link)}\n${at}`);
    passes.forEach((pass, at) => put(pass, begin + 1 + at));
    return [link.from, ...passes, link.to];
  });
  return { layers, paths };
}

const SWEEPS = 8;

function ordered(layers: readonly (readonly string[])[], paths: readonly (readonly string[])[]): string[][] {
  const steps = paths.flatMap((path) => path.slice(1).map((to, at): Link => ({ from: path[at] ?? "", to })));
  const back = adjacency(steps.map(({ from, to }) => ({ from: to, to: from })));
  const ahead = adjacency(steps);
  let current = layers.map((layer) => [...layer]);
  let [best, fewest] = [current, crossings(current, steps)];
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; ++sweep) {
    current = swept(current, sweep % 2 === 0 ? back : ahead, sweep % 2 === 0);
    const count = crossings(current, steps);
    if (count < fewest) [best, fewest] = [current, count];
  }
  return best;
}

function swept(layers: readonly (readonly string[])[], beside: ReadonlyMap<string, string[]>, rightwards: boolean) {
  const result = layers.map((layer) => [...layer]);
  const order = result.map((_, at) => (rightwards ? at : result.length - 1 - at));
  for (const at of order.slice(1)) {
    const fixed = placesOf(result[rightwards ? at - 1 : at + 1] ?? []);
    result[at] = byBarycentre(result[at] ?? [], beside, fixed);
  }
  return result;
}

function byBarycentre(
  layer: readonly string[],
  beside: ReadonlyMap<string, string[]>,
  fixed: ReadonlyMap<string, number>,
): string[] {
  const weighed = layer.map((name, at) => {
    const places = (beside.get(name) ?? []).map((other) => fixed.get(other) ?? 0);
    return { name, at: places.length > 0 ? places.reduce((sum, place) => sum + place, 0) / places.length : at };
  });
  return weighed.sort((one, other) => one.at - other.at).map(({ name }) => name);
}

function placesOf(layer: readonly string[]): Map<string, number> {
  return new Map(layer.map((name, at) => [name, at]));
}

/** How many pairs of edges between neighbouring layers cross. */
export function crossings(layers: readonly (readonly string[])[], steps: readonly Link[]): number {
  let count = 0;
  for (let at = 0; at + 1 < layers.length; ++at) {
    const [left, right] = [placesOf(layers[at] ?? []), placesOf(layers[at + 1] ?? [])];
    const pairs = steps
      .filter(({ from, to }) => left.has(from) && right.has(to))
      .map(({ from, to }) => [left.get(from) ?? 0, right.get(to) ?? 0] as const);
    pairs.forEach(([a, b], first) => {
      for (const [c, d] of pairs.slice(first + 1)) if ((a - c) * (b - d) < 0) ++count;
    });
  }
  return count;
}
