// Which colour each function has.

/** Colours of functions, beside those of what is not one. */
export const HUES = 24;
export const MERGED_LOOK = HUES;
export const UNNAMED_LOOK = HUES + 1;

/** The same in every tile, and for a colleague. */
export function lookOf(name: string): number {
  if (name.startsWith("[")) return UNNAMED_LOOK;
  let hash = 2166136261;
  for (let at = 0; at < name.length; ++at) hash = Math.imul(hash ^ name.charCodeAt(at), 16777619);
  return (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0) % HUES;
}
