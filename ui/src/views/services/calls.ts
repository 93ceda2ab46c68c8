// Calls: the graph's answer as the drawing and the table have it: rates instead of counts, one name for each service.
import type { GraphAnswer, GraphEdge } from "@/api/generated/answers";
import type { Column } from "@/parts/order";

export interface ServiceNode {
  readonly name: string;
  /** As the explorer's filter has it: without the namespace. */
  readonly service: string;
  readonly namespace: string;
  readonly rate: number;
  readonly errorShare: number;
  readonly p99_nano: number;
}

export interface Call {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly rate: number;
  readonly errorShare: number;
  readonly p50_nano: number;
  readonly p99_nano: number;
}

export interface Calls {
  readonly services: readonly ServiceNode[];
  readonly calls: readonly Call[];
}

export function callsOf({ services, edges }: GraphAnswer, seconds: number): Calls {
  const nodes = new Map<string, ServiceNode>();
  for (const { service, service_namespace, spans, errors, p99_nano } of services) {
    const name = nameOf(service_namespace, service);
    const node = { name, service, namespace: service_namespace };
    nodes.set(name, { ...node, ...shares(spans, errors, seconds), p99_nano });
  }
  const calls = edges.map((edge) => callOf(edge, seconds));
  // An edge may name a service whose own spans lie outside of the range.
  for (const edge of edges) {
    for (const [namespace, service] of [
      [edge.caller_namespace, edge.caller],
      [edge.callee_namespace, edge.callee],
    ] as const) {
      const name = nameOf(namespace, service);
      if (!nodes.has(name)) nodes.set(name, { name, service, namespace, rate: 0, errorShare: 0, p99_nano: 0 });
    }
  }
  return { services: [...nodes.values()], calls };
}

function callOf(edge: GraphEdge, seconds: number): Call {
  const [from, to] = [nameOf(edge.caller_namespace, edge.caller), nameOf(edge.callee_namespace, edge.callee)];
  const { p50_nano, p99_nano } = edge;
  const rates = shares(edge.calls, edge.errors, seconds);
  return { key: `${from}\n${to}`, from, to, ...rates, p50_nano, p99_nano };
}

function nameOf(namespace: string, service: string): string {
  return namespace ? `${namespace}/${service}` : service;
}

function shares(count: number, errors: number, seconds: number): { rate: number; errorShare: number } {
  return { rate: seconds > 0 ? count / seconds : 0, errorShare: count > 0 ? errors / count : 0 };
}

export const COLUMNS: readonly Column<Call>[] = [
  { key: "from", label: "Caller", value: ({ from }) => from },
  { key: "to", label: "Callee", value: ({ to }) => to },
  { key: "rate", label: "Calls", kind: "number", value: ({ rate }) => rate },
  { key: "errorShare", label: "Errors", kind: "number", value: ({ errorShare }) => errorShare },
  { key: "p50_nano", label: "p50", kind: "number", title: "of the callee's spans", value: (call) => call.p50_nano },
  { key: "p99_nano", label: "p99", kind: "number", title: "of the callee's spans", value: (call) => call.p99_nano },
];

/** Those of which the caller's or the callee's name has the text. */
export function callsNamed(calls: readonly Call[], text: string): readonly Call[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return calls;
  return calls.filter(({ from, to }) => from.toLowerCase().includes(wanted) || to.toLowerCase().includes(wanted));
}

/**
 * What the explorer is asked for to show a service's spans: where another one has the same name in another namespace, the
 * namespace as well.
 */
export function spansOf({ service, namespace }: ServiceNode, services: readonly ServiceNode[]): Record<string, string> {
  const twin = services.some((other) => other.service === service && other.namespace !== namespace);
  return twin && namespace !== "" ? { service, where: `service.namespace=${namespace}` } : { service };
}

/** For each call, from 1 pixel for the rarest to 6 for the most frequent, by the logarithm. */
export function strokeWidths(calls: readonly Call[]): number[] {
  let [least, most] = [Infinity, 0];
  for (const { rate } of calls) if (rate > 0) [least, most] = [Math.min(least, rate), Math.max(most, rate)];
  return calls.map(({ rate }) =>
    rate <= 0 || !(most > least) ? 1.5 : 1 + (5 * Math.log(rate / least)) / Math.log(most / least),
  );
}
