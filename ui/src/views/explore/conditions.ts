// Conditions KEY=VALUE: as one text in the address, and where they come from.
import type { Difference, Trait } from "@/api/generated/answers";
import type { Words } from "./words";

/** One line each; what would end a line early is escaped. */
export function encodeConditions(conditions: readonly string[]): string {
  return conditions.map((text) => text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n")).join("\n");
}

export function decodeConditions(text: string): string[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.map((line) => line.replace(/\\([\\n])/g, (_, escaped) => (escaped === "n" ? "\n" : "\\")));
}

/** Why this is no condition; undefined where it is one. */
export function faultOf(condition: string): string | undefined {
  const at = condition.indexOf("=", 1);
  if (at < 1) return "write KEY=VALUE, as in tenant=acme";
  return at === condition.length - 1 ? `which value of ${condition.slice(0, at)}?` : undefined;
}

export function withCondition(words: Words, condition: string): Words {
  return words.where.includes(condition) ? words : { ...words, where: [...words.where, condition] };
}

export function withoutCondition(words: Words, condition: string): Words {
  return { ...words, where: words.where.filter((other) => other !== condition) };
}

/** Looks only at spans that have it. */
export function withTrait(words: Words, { of, key, value }: Trait): Words {
  switch (of) {
    case "service":
      return { ...words, service: value, operation: words.service === value ? words.operation : "" };
    case "operation":
      return { ...words, operation: value };
    case "status":
      return { ...words, errors: value === "error" };
    default:
      return withCondition(words, `${key}=${value}`);
  }
}

/** What differs, for people: "tenant = acme", "operation = POST /pay". */
export function nameOfTrait({ of, key }: Trait): string {
  return of === "attribute" || of === "resource" ? key : of;
}

/** Its own trait, and those that exactly the same spans have. */
export function traitsOf(difference: Difference): Trait[] {
  return [difference, ...difference.also];
}

export interface Completion {
  /** What a choice puts into the field. */
  readonly text: string;
  readonly spans?: number;
}

/** What a half-typed condition may become: a key until "=" is typed, then one of its values. */
export function completions(
  typed: string,
  keys: readonly string[],
  values: readonly { value: string; spans: number }[],
  most = 12,
): Completion[] {
  const key = keyOf(typed, keys);
  if (key === undefined) {
    const starts = matching(keys, typed, (text) => text);
    return starts.slice(0, most).map((text) => ({ text: `${text}=` }));
  }
  const rest = typed.slice(key.length + 1);
  return matching(values, rest, ({ value }) => value)
    .slice(0, most)
    .map(({ value, spans }) => ({ text: `${key}=${value}`, spans }));
}

/** The key of what is typed, once its "=" is; of keys with "=" in them, the longest that there is. */
export function keyOf(typed: string, keys: readonly string[]): string | undefined {
  const known = keys.filter((key) => typed.startsWith(`${key}=`)).sort((one, other) => other.length - one.length)[0];
  if (known !== undefined) return known;
  const at = typed.indexOf("=", 1);
  return at > 0 ? typed.slice(0, at) : undefined;
}

// Those that begin so before those that have it somewhere.
function matching<T>(all: readonly T[], typed: string, textOf: (one: T) => string): T[] {
  const sought = typed.toLowerCase();
  const found = all.filter((one) => textOf(one).toLowerCase().includes(sought));
  const begins = (one: T): number => (textOf(one).toLowerCase().startsWith(sought) ? 0 : 1);
  return found.sort((one, other) => begins(one) - begins(other));
}
