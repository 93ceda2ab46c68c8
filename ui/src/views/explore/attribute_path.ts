// Where the server tells an attribute's values.

/**
 * Undefined: they cannot be asked for. A browser takes "." and "..", however they are written, for steps in a path.
 */
export function valuesPath(key: string): string | undefined {
  return canBeAsked(key) ? `attributes/${encodeURIComponent(key)}/values` : undefined;
}

export function canBeAsked(key: string): boolean {
  return key !== "" && key !== "." && key !== "..";
}
