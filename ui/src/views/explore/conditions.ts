// Conditions: as one text in the address, and where they come from.
import { formatCondition, parseCondition, typedSoFar, writtenKey, type Typed } from "./condition_text";
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
  const said = parseCondition(condition);
  return "problem" in said ? said.problem : undefined;
}

/** `text` as it is typed, blanks and all. */
export function withCondition(words: Words, text: string): Words {
  const said = parseCondition(text);
  const condition = "problem" in said ? text : formatCondition(said);
  return words.where.includes(condition) ? words : { ...words, where: [...words.where, condition] };
}

export function withoutCondition(words: Words, condition: string): Words {
  return { ...words, where: words.where.filter((other) => other !== condition) };
}

export interface Completion {
  /** What a choice puts into the field. */
  readonly text: string;
  /** A condition as it stands; else more is to be typed. */
  readonly whole: boolean;
  readonly spans?: number;
  readonly note?: string;
}

/** What a half-typed condition may become: a key, then how it is compared, then one of its values. */
export function completions(
  typed: string,
  keys: readonly string[],
  values: readonly { value: string; spans: number }[],
  most = 12,
): Completion[] {
  const said = typedSoFar(typed);
  if (said.sign === undefined) return keyCompletions(said, keys).slice(0, most);
  if (said.sign !== "=" && said.sign !== "!=") return [];
  const { key, sign: compare, rest } = said;
  return matching(values, rest, ({ value }) => value)
    .slice(0, most)
    .map(({ value, spans }) => ({ text: formatCondition({ key, compare, value }), whole: true, spans }));
}

function keyCompletions({ lacks, key }: Typed, keys: readonly string[]): Completion[] {
  const found = matching(keys, key, (text) => text).map(writtenKey);
  if (lacks) return found.map((text) => ({ text: `!${text}`, whole: true }));
  const others = found.filter((text) => text !== writtenKey(key)).map((text) => ({ text: `${text}=`, whole: false }));
  return keys.includes(key) ? [...comparisons(writtenKey(key)), ...others] : others;
}

function comparisons(key: string): Completion[] {
  return [
    { text: `${key}=`, whole: false },
    { text: `${key}!=`, whole: false, note: "another value" },
    { text: `${key}>=`, whole: false, note: "a number; also > < <=" },
    { text: key, whole: true, note: "has it" },
    { text: `!${key}`, whole: true, note: "lacks it" },
  ];
}

/** The key whose values are to be offered, once a sign is typed behind it that takes one of them. */
export function keyOf(typed: string): string | undefined {
  const { sign, key } = typedSoFar(typed);
  return (sign === "=" || sign === "!=") && key !== "" ? key : undefined;
}

// Those that begin so before those that have it somewhere.
function matching<T>(all: readonly T[], typed: string, textOf: (one: T) => string): T[] {
  const sought = typed.toLowerCase();
  const found = all.filter((one) => textOf(one).toLowerCase().includes(sought));
  const begins = (one: T): number => (textOf(one).toLowerCase().startsWith(sought) ? 0 : 1);
  return found.sort((one, other) => begins(one) - begins(other));
}
