// Neighbourhood: what of the services is drawn. All of them while they are few; of many, one service with who calls it,
// whom it calls, and those next to these, the most frequent first: a drawing that fits a window whatever the fleet.
import type { Call, Calls, ServiceNode } from "./calls";

export interface Drawn extends Calls {
  /** Undefined: all of them are drawn. */
  readonly centre?: string;
  /** From left (who calls) to right (who is called); only around a centre. */
  readonly layerOf?: ReadonlyMap<string, number>;
  /** How many services beside the centre have a call from or to it that is not drawn. */
  readonly hidden: number;
}

export const MOST_WHOLE = 60;
// More lines than that between few services are no picture either.
const MOST_WHOLE_CALLS = 150;
const MOST_BESIDE = 8;
const MOST_FURTHER = 8;

export function drawnOf(all: Calls, wanted: string | undefined): Drawn {
  if (all.services.length <= MOST_WHOLE && all.calls.length <= MOST_WHOLE_CALLS) return { ...all, hidden: 0 };
  const names = new Set(all.services.map(({ name }) => name));
  const centre = wanted !== undefined && names.has(wanted) ? wanted : busiest(all);
  return around(all, centre);
}

/** The one with the most calls, made and received; of equal ones the first by name. */
export function busiest({ services, calls }: Calls): string {
  const rates = new Map(services.map(({ name }) => [name, 0]));
  for (const { from, to, rate } of calls) {
    rates.set(from, (rates.get(from) ?? 0) + rate);
    if (from !== to) rates.set(to, (rates.get(to) ?? 0) + rate);
  }
  let best = "";
  for (const [name, rate] of rates) {
    const most = rates.get(best) ?? -1;
    if (rate > most || (rate === most && name < best)) best = name;
  }
  return best;
}

function around(all: Calls, centre: string): Drawn {
  const sides = new Map([[centre, 0]]);
  const direct = all.calls.filter(({ from, to }) => (from === centre) !== (to === centre));
  const others = new Set(direct.map(({ from, to }) => (from === centre ? to : from)));
  const nobody = new Set<string>();
  for (const side of [-1, 1]) take(sides, beside(all.calls, sides, side, 0, nobody), MOST_BESIDE, side);
  for (const side of [-1, 1]) take(sides, beside(all.calls, sides, side, side, others), MOST_FURTHER, 2 * side);
  const left = [...sides.values()].reduce((least, side) => Math.min(least, side), 0);
  const layerOf = new Map([...sides].map(([name, side]) => [name, side - left]));
  const services: ServiceNode[] = all.services.filter(({ name }) => sides.has(name));
  const calls = all.calls.filter((call) => isDrawn(call, sides, centre));
  const beyond = new Set(
    direct.map(({ from, to }) => (from === centre ? to : from)).filter((name) => !sides.has(name)),
  );
  return { services, calls, centre, layerOf, hidden: beyond.size };
}

// Between neighbouring layers, and not back among those further away: lines that are followed easily.
function isDrawn({ from, to }: Call, sides: ReadonlyMap<string, number>, centre: string): boolean {
  const [begin, end] = [sides.get(from), sides.get(to)];
  if (begin === undefined || end === undefined || begin === end) return false;
  return from === centre || to === centre || end === begin + 1;
}

/** Who is next to those at `level` on that side, not taken and not `but`, with how often they call or are called. */
function beside(
  calls: readonly Call[],
  sides: ReadonlyMap<string, number>,
  side: number,
  level: number,
  but: ReadonlySet<string>,
): ReadonlyMap<string, number> {
  const rates = new Map<string, number>();
  for (const { from, to, rate } of calls) {
    const [near, far] = side > 0 ? [from, to] : [to, from];
    const wanted = sides.get(near) === level && !sides.has(far) && !but.has(far);
    if (wanted) rates.set(far, (rates.get(far) ?? 0) + rate);
  }
  return rates;
}

function take(sides: Map<string, number>, rates: ReadonlyMap<string, number>, most: number, side: number): void {
  [...rates]
    .sort(([one, much], [other, more]) => more - much || (one < other ? -1 : 1))
    .slice(0, most)
    .forEach(([name]) => sides.set(name, side));
}

/** Who has a call with each: what stays in sight while one service is pointed at. */
export function neighboursOf(calls: readonly Call[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  const put = (name: string, other: string): void => {
    const known = found.get(name) ?? new Set([name]);
    found.set(name, known.add(other));
  };
  for (const { from, to } of calls) {
    put(from, to);
    put(to, from);
  }
  return found;
}
