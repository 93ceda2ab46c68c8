// One condition as a text, in the server's grammar (docs/api.md, "Conditions"):
//
//     KEY=VALUE  KEY!=VALUE  KEY>N  KEY>=N  KEY<N  KEY<=N  KEY  !KEY
//
// Blanks around each part are nothing; what has signs of its own in it stands in double quotes, with \" and \\ for these two.

/** "has" and "lacks" take no value. */
export type Compare = "=" | "!=" | ">" | ">=" | "<" | "<=" | "has" | "lacks";

export interface Condition {
  readonly key: string;
  readonly compare: Compare;
  readonly value: string;
}

export const GRAMMAR = "KEY=VALUE, KEY!=VALUE, KEY>=N, KEY (has it) or !KEY (lacks it)";
// Of two that begin alike the longer one first.
const SIGNS: readonly Compare[] = ["!=", ">=", "<=", "=", ">", "<"];

interface Problem {
  readonly problem: string;
}

/** The quoted or bare part that a text begins with, and what follows it; undefined: a quote is not closed. */
function takePart(text: string, bare: RegExp): { part: string; rest: string } | undefined {
  if (!text.startsWith('"')) {
    const part = bare.exec(text)?.[0] ?? "";
    return { part: part.trim(), rest: text.slice(part.length) };
  }
  const quoted = /^"((?:[^"\\]|\\["\\])*)"/.exec(text);
  if (!quoted) return undefined;
  return { part: (quoted[1] ?? "").replace(/\\(.)/g, "$1"), rest: text.slice(quoted[0].length).trim() };
}

const KEY = /^[^=!<>]*/;

export function parseCondition(text: string): Condition | Problem {
  const whole = text.trim();
  const lacks = whole.startsWith("!");
  const taken = takePart(lacks ? whole.slice(1).trim() : whole, KEY);
  if (!taken) return { problem: "a double quote is not closed" };
  const { part: key, rest } = taken;
  const quoted = /^!?\s*"/.test(whole);
  if (key === "") return { problem: `which attribute? Write ${GRAMMAR}` };
  if (!quoted && /[\s~"]/.test(key))
    return { problem: `“${key}” is no key unless it is in double quotes; write ${GRAMMAR}` };
  if (rest === "") return { key, compare: lacks ? "lacks" : "has", value: "" };
  const sign = SIGNS.find((one) => rest.startsWith(one));
  if (lacks || !sign) return { problem: `“${rest}” is not understood; write ${GRAMMAR}` };
  return valueOf(key, sign, rest.slice(sign.length).trim());
}

function valueOf(key: string, compare: Compare, text: string): Condition | Problem {
  if (text === "") return { problem: `which value of ${key}? For an empty one write ${key}${compare}""` };
  const taken = takePart(text, /^.*$/s);
  if (!taken) return { problem: "a double quote is not closed" };
  const { part: value, rest } = taken;
  if (rest !== "") return { problem: `“${rest}” follows the closing double quote` };
  if (!text.startsWith('"') && needsQuotes(text))
    return { problem: `“${text}” is no value unless it is in double quotes` };
  if (/[<>]/.test(compare) && !isNumber(value)) return { problem: `${compare} takes a number, and “${value}” is none` };
  return { key, compare, value };
}

function isNumber(text: string): boolean {
  return text.trim() !== "" && Number.isFinite(Number(text)) && !/^[-+]?0[xob]/i.test(text.trim());
}

function needsQuotes(value: string): boolean {
  return value === "" || /^[=~<>"]|&&|\|\||^\s|\s$/.test(value);
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

export function writtenKey(key: string): string {
  return /[\s=!<>~"]/.test(key) ? quoted(key) : key;
}

/** The shortest text that is this condition. */
export function formatCondition({ key, compare, value }: Condition): string {
  if (compare === "has") return writtenKey(key);
  if (compare === "lacks") return `!${writtenKey(key)}`;
  return `${writtenKey(key)}${compare}${needsQuotes(value) ? quoted(value) : value}`;
}

/** The condition that a span has the attribute with this value. */
export function conditionOf(key: string, value: string): string {
  return formatCondition({ key, compare: "=", value });
}

/** For people: "payment.amount ≥ 500", "has tenant". */
export function conditionWords(text: string): string {
  const said = parseCondition(text);
  if ("problem" in said) return text;
  const { key, compare, value } = said;
  if (compare === "has" || compare === "lacks") return `${compare} ${key}`;
  return `${key} ${compare} ${value === "" ? '""' : value}`;
}

/** What is typed so far: the key, and behind a sign the value's begin. */
export interface Typed {
  readonly lacks: boolean;
  readonly key: string;
  readonly sign?: Compare;
  readonly rest: string;
}

export function typedSoFar(text: string): Typed {
  const whole = text.trimStart();
  const lacks = whole.startsWith("!");
  const behind = lacks ? whole.slice(1).trimStart() : whole;
  const taken = takePart(behind, KEY) ?? { part: behind.slice(1), rest: "" };
  const sign = lacks ? undefined : SIGNS.find((one) => taken.rest.startsWith(one));
  const rest = sign ? taken.rest.slice(sign.length).trimStart().replace(/^"/, "") : "";
  return { lacks, key: taken.part, rest, ...(sign && { sign }) };
}
