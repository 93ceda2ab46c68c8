// The colours of services that are drawn beside each other: told from their names, so that a colleague sees the same, and
// apart where two names would tell the same.

/** Degrees on the colour wheel; what is between the last and the first is left to errors and the critical path. */
const HUES = [70, 95, 121, 146, 172, 197, 223, 248, 274, 299, 325, 350];
// Once all hues are taken they come again, lighter and then darker.
const TIERS = [0, 0.12, -0.12] as const;
/** Of two names with one hue the second goes this many further: hues of about the other side of the wheel. */
const STEP = 5;

/** Of a service, and whether the ground is dark; one that was not named has what its name alone tells. */
export type ServiceColors = (service: string, dark: boolean) => string;

export function colorsOf(services: Iterable<string>): ServiceColors {
  const slots = slotsOf(services);
  return (service, dark) => colorAt(slots.get(service) ?? preferred(service), dark);
}

/** Each its own while there are as many. */
export function slotsOf(services: Iterable<string>): ReadonlyMap<string, number> {
  const slots = new Map<string, number>();
  const taken = new Set<number>();
  for (const service of [...new Set(services)].sort()) {
    const slot = freeSlot(preferred(service), taken);
    slots.set(service, slot);
    taken.add(slot);
  }
  return slots;
}

// While there are few, next to none of the others; then any hue that is free; then any lightness of one.
function freeSlot(first: number, taken: ReadonlySet<number>): number {
  const hues = HUES.map((_, tries) => (first + tries * STEP) % HUES.length);
  const isApart = (hue: number): boolean =>
    [-1, 0, 1].every((by) => !taken.has((hue + by + HUES.length) % HUES.length));
  const slots = TIERS.flatMap((_, tier) => hues.map((hue) => tier * HUES.length + hue));
  return hues.find(isApart) ?? slots.find((slot) => !taken.has(slot)) ?? first;
}

function preferred(service: string): number {
  let hash = 2166136261;
  for (let at = 0; at < service.length; ++at) hash = Math.imul(hash ^ service.charCodeAt(at), 16777619);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 12)) >>> 0) % HUES.length;
}

function colorAt(slot: number, dark: boolean): string {
  const lightness = (dark ? 0.72 : 0.62) + (TIERS[Math.floor(slot / HUES.length)] ?? 0);
  return `oklch(${lightness.toFixed(2)} 0.12 ${HUES[slot % HUES.length]})`;
}
