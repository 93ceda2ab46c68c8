// Made traces, for tests: spans from a few words.
import type { TraceAnswer, TraceSpan } from "@/api/generated/answers";

export interface SpanWords extends Partial<Omit<TraceSpan, "start_time_unix_nano" | "duration_nano">> {
  readonly id: string;
  readonly parent?: string;
  readonly from: number;
  readonly to: number;
}

/** The origin of made traces; an instant that no floating point number holds. */
export const MADE_ORIGIN_NANO = 1795221003123456789n;

export function madeSpan({ id, parent = "", from, to, ...more }: SpanWords): TraceSpan {
  return {
    span_id: id,
    parent_span_id: parent,
    service: "shop",
    operation: id,
    kind: "internal",
    start_time_unix_nano: (MADE_ORIGIN_NANO + BigInt(from)).toString(),
    duration_nano: to - from,
    status: "unset",
    attributes: {},
    events: [],
    links: [],
    resource: 0,
    scope: 0,
    ...more,
  };
}

export function madeTrace(spans: readonly SpanWords[], more: Partial<TraceAnswer> = {}): TraceAnswer {
  return {
    trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
    start_time_unix_nano: MADE_ORIGIN_NANO.toString(),
    duration_nano: Math.max(0, ...spans.map((span) => span.to)),
    complete: true,
    spans: spans.map(madeSpan),
    resources: [{ service: "shop", attributes: {} }],
    scopes: [{ name: "", version: "", attributes: {} }],
    captures: [],
    ...more,
  };
}

/** A tree of `count` spans, some hundred children each, in a handful of services; the same for the same count. */
export function madeLargeTrace(count: number): TraceAnswer {
  let state = 12345;
  const chance = () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 2 ** 32;
  const words: SpanWords[] = [{ id: "0", from: 0, to: 1e9 }];
  for (let index = 1; index < count; ++index) {
    const up = words[Math.floor(index / 20)] ?? { id: "0", from: 0, to: 1e9 };
    const length = up.to - up.from;
    const from = Math.floor(up.from + chance() * 0.9 * length);
    const to = from + Math.floor(chance() * 0.3 * length);
    const service = `service-${index % 7}`;
    words.push({
      id: `${index}`,
      parent: up.id,
      from,
      to,
      service,
      operation: `op ${index % 13}`,
      resource: index % 7,
    });
  }
  return { ...madeTrace([]), duration_nano: 1e9, spans: words.map(madeSpan) };
}
