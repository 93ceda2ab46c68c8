// Search within a trace: which spans have a text in their service, operation, id, status, attributes, events, or in
// their resource. What has it in its name goes first; a name with the words as they stand there goes before one that has
// them anywhere. Letters large or small; "in quotes": as it stands there only.
import type { TraceAnswer, TraceSpan } from "@/api/generated/answers";
import type { TraceTree } from "./tree";
import { valueText } from "./values";

export interface Hits {
  /** Those with it in their name first; of each sort ascending. */
  readonly nodes: readonly number[];
  /** How many have it in their name. */
  readonly inNames: number;
}

export interface Searchable {
  find(text: string): Hits;
  /** Where of a node it was found: "its name", "attribute tenant"; undefined: nowhere. */
  whereFound(node: number, text: string): string | undefined;
}

const NONE: Hits = { nodes: [], inNames: 0 };

/** Texts are made when they are first searched, and kept. */
export function searchable(tree: TraceTree, answer: TraceAnswer): Searchable {
  let texts: readonly Texts[] | undefined;
  const all = () => (texts ??= textsOf(tree, answer));
  return {
    find: (text) => found(wantedOf(text), all()),
    whereFound: (node, text) => {
      const span = tree.nodes[node]?.span;
      const wanted = wantedOf(text);
      return span && wanted ? placeOf(span, answer, wanted) : undefined;
    },
  };
}

interface Wanted {
  readonly phrase: string;
  readonly words: readonly string[];
}

function wantedOf(text: string): Wanted | undefined {
  const phrase = text.trim().toLowerCase().replace(/\s+/g, " ");
  const quoted = /^"(.+)"$/.exec(phrase)?.[1];
  if (quoted !== undefined) return { phrase: quoted, words: [quoted] };
  return phrase === "" ? undefined : { phrase, words: phrase.split(" ") };
}

function hasAll(text: string, { words }: Wanted): boolean {
  return words.every((word) => text.includes(word));
}

function found(wanted: Wanted | undefined, texts: readonly Texts[]): Hits {
  if (!wanted) return NONE;
  const [whole, named, other]: [number[], number[], number[]] = [[], [], []];
  texts.forEach(({ name, rest }, node) => {
    if (name.includes(wanted.phrase)) whole.push(node);
    else if (hasAll(name, wanted)) named.push(node);
    else if (hasAll(name + rest, wanted)) other.push(node);
  });
  return { nodes: [...whole, ...named, ...other], inNames: whole.length + named.length };
}

interface Texts {
  readonly name: string;
  readonly rest: string;
}

function textsOf(tree: TraceTree, answer: TraceAnswer): readonly Texts[] {
  const resources = answer.resources.map(({ attributes }) => attributesText(attributes).toLowerCase());
  return tree.nodes.map(({ span, spanId }) =>
    span
      ? { name: nameText(span), rest: `\n${restText(span)}\n${resources[span.resource] ?? ""}` }
      : { name: "", rest: spanId.toLowerCase() },
  );
}

function nameText({ service, operation, name }: TraceSpan): string {
  return `${service} ${operation}${name === undefined ? "" : ` ${name}`}`.toLowerCase();
}

function restText(span: TraceSpan): string {
  const events = span.events.map((event) => `${event.name}\n${attributesText(event.attributes)}`);
  const words = [span.span_id, span.kind, span.status, span.status_message ?? ""];
  return [...words, attributesText(span.attributes), ...events].join("\n").toLowerCase();
}

/** "key=value": both are found, and both together. */
function attributesText(attributes: Readonly<Record<string, unknown>>): string {
  let text = "";
  for (const key in attributes) text += `${key}=${valueText(attributes[key])}\n`;
  return text;
}

function placeOf(span: TraceSpan, answer: TraceAnswer, wanted: Wanted): string | undefined {
  const places = placesOf(span, answer).map(([place, text]) => [place, text.toLowerCase()] as const);
  const whole = places.find(([, text]) => hasAll(text, wanted));
  if (whole) return whole[0];
  const some = places.filter(([, text]) => wanted.words.some((word) => text.includes(word)));
  const names = [...new Set(some.map(([place]) => place))];
  return names.length > 0 ? names.slice(0, 3).join(", ") : undefined;
}

/** In the order in which a reader would like to be told. */
function placesOf(span: TraceSpan, answer: TraceAnswer): readonly (readonly [place: string, text: string])[] {
  const said = (what: string, attributes: Readonly<Record<string, unknown>>) =>
    Object.entries(attributes).map(([key, value]) => [`${what} ${key}`, `${key}=${valueText(value)}`] as const);
  return [
    ["its name", nameText(span)],
    ["its id", span.span_id],
    ["its status", `${span.status} ${span.status_message ?? ""}`],
    ["its kind", span.kind],
    ...said("attribute", span.attributes),
    ...span.events.flatMap((event) => [
      ["an event's name", event.name] as const,
      ...said(`event ${event.name}:`, event.attributes),
    ]),
    ...said("resource", answer.resources[span.resource]?.attributes ?? {}),
  ];
}

/** The hit behind (or before) a node, round the end; undefined where there is none. `hits` ascend. */
export function stepThrough(hits: readonly number[], from: number, forward: boolean): number | undefined {
  if (hits.length === 0) return undefined;
  if (forward) return hits.find((hit) => hit > from) ?? hits[0];
  return [...hits].reverse().find((hit) => hit < from) ?? hits.at(-1);
}

/** Names first, then the others, round the end; from elsewhere to the next name. */
export function stepThroughHits({ nodes, inNames }: Hits, from: number, forward: boolean): number | undefined {
  const at = nodes.indexOf(from);
  if (at >= 0) return nodes[(at + (forward ? 1 : -1) + nodes.length) % nodes.length];
  return stepThrough(inNames > 0 ? nodes.slice(0, inNames) : nodes, from, forward);
}
