// Search within a trace: which spans have a text in their service, operation, id, status, attributes, events, or in
// their resource. All words must be found, each of them anywhere; letters large or small.
import type { TraceAnswer, TraceResource, TraceSpan } from "@/api/generated/answers";
import type { TraceTree } from "./tree";
import { valueText } from "./values";

export interface Searchable {
  /** Of each node the indexes of those found, ascending. */
  find(text: string): readonly number[];
}

/** Texts are made when they are first searched, and kept. */
export function searchable(tree: TraceTree, answer: TraceAnswer): Searchable {
  let texts: readonly string[] | undefined;
  return {
    find(text) {
      const words = text.toLowerCase().split(/\s+/).filter(Boolean);
      if (words.length === 0) return [];
      texts ??= textsOf(tree, answer);
      return texts.flatMap((has, index) => (words.every((word) => has.includes(word)) ? [index] : []));
    },
  };
}

function textsOf(tree: TraceTree, answer: TraceAnswer): readonly string[] {
  const resources = answer.resources.map(resourceText);
  return tree.nodes.map(({ span, spanId }) =>
    span ? `${spanText(span)}\n${resources[span.resource] ?? ""}` : spanId.toLowerCase(),
  );
}

function resourceText(resource: TraceResource): string {
  return attributesText(resource.attributes).toLowerCase();
}

function spanText(span: TraceSpan): string {
  const events = span.events.map((event) => `${event.name}\n${attributesText(event.attributes)}`);
  const words = [span.service, span.operation, span.name ?? "", span.span_id, span.kind, span.status];
  return [...words, span.status_message ?? "", attributesText(span.attributes), ...events].join("\n").toLowerCase();
}

/** "key=value": both are found, and both together. */
function attributesText(attributes: Readonly<Record<string, unknown>>): string {
  let text = "";
  for (const key in attributes) text += `${key}=${valueText(attributes[key])}\n`;
  return text;
}

/** The hit behind (or before) a node, round the end; undefined where there is none. */
export function stepThrough(hits: readonly number[], from: number, forward: boolean): number | undefined {
  if (hits.length === 0) return undefined;
  if (forward) return hits.find((hit) => hit > from) ?? hits[0];
  return [...hits].reverse().find((hit) => hit < from) ?? hits.at(-1);
}
