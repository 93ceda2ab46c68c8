// Values of attributes as texts: exact, and the same for showing and for searching.

/** A text as itself, all else as JSON has it; integers of any size are exact, which JSON.stringify would not bear. */
export function valueText(value: unknown): string {
  return typeof value === "string" ? value : jsonText(value);
}

function jsonText(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  const members = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${jsonText(inner)}`);
  return `{${members.join(",")}}`;
}

export type AttributePairs = readonly (readonly [string, unknown])[];

/** By key, as a reader looks for them. */
export function sortedAttributes(attributes: Readonly<Record<string, unknown>>): AttributePairs {
  return Object.entries(attributes).sort(([one], [other]) => (one < other ? -1 : 1));
}
