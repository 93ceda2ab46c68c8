// The colour of a service: the same wherever it is drawn, told from its name, so that a colleague sees the same.

/** Degrees on the colour wheel; neighbours of a name land far apart. */
export function hueOf(service: string): number {
  let hash = 2166136261;
  for (let at = 0; at < service.length; ++at) hash = Math.imul(hash ^ service.charCodeAt(at), 16777619);
  return Math.round(((hash >>> 0) * 0.618033988749895 * 360) % 360);
}

export function serviceColor(service: string, dark: boolean): string {
  return `oklch(${dark ? "0.72" : "0.62"} 0.12 ${hueOf(service)})`;
}
