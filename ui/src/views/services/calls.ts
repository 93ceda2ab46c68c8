// Calls: the graph's answer as the drawing and the table have it: rates instead of counts, one name for each service.
import type { GraphAnswer, GraphEdge } from "@/api/generated/answers";

export interface ServiceNode {
  readonly name: string;
  /** As the explorer's filter has it: without the namespace. */
  readonly service: string;
  readonly rate: number;
  readonly errorShare: number;
  readonly p99_nano: number;
}

export interface Call {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly service: string;
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
    nodes.set(name, { name, service, ...shares(spans, errors, seconds), p99_nano });
  }
  const calls = edges.map((edge) => callOf(edge, seconds));
  // An edge may name a service whose own spans lie outside of the range.
  for (const edge of edges) {
    for (const [namespace, service] of [
      [edge.caller_namespace, edge.caller],
      [edge.callee_namespace, edge.callee],
    ] as const) {
      const name = nameOf(namespace, service);
      if (!nodes.has(name)) nodes.set(name, { name, service, rate: 0, errorShare: 0, p99_nano: 0 });
    }
  }
  return { services: [...nodes.values()], calls };
}

function callOf(edge: GraphEdge, seconds: number): Call {
  const [from, to] = [nameOf(edge.caller_namespace, edge.caller), nameOf(edge.callee_namespace, edge.callee)];
  const { p50_nano, p99_nano } = edge;
  const rates = shares(edge.calls, edge.errors, seconds);
  return { key: `${from}\n${to}`, from, to, service: edge.callee, ...rates, p50_nano, p99_nano };
}

function nameOf(namespace: string, service: string): string {
  return namespace ? `${namespace}/${service}` : service;
}

function shares(count: number, errors: number, seconds: number): { rate: number; errorShare: number } {
  return { rate: seconds > 0 ? count / seconds : 0, errorShare: count > 0 ? errors / count : 0 };
}

export const COLUMNS = [
  ["from", "Caller"],
  ["to", "Callee"],
  ["rate", "Calls"],
  ["errorShare", "Errors"],
  ["p50_nano", "p50"],
  ["p99_nano", "p99"],
] as const;
export type Column = (typeof COLUMNS)[number][0];

export interface Order {
  readonly column: Column;
  readonly rising: boolean;
}

/** "rate": the greatest first; "-rate": the smallest. Names are the other way round. */
export function readOrder(sort: string | undefined): Order {
  const wanted = sort ?? "rate";
  const column = COLUMNS.find(([name]) => name === wanted.replace(/^-/, ""))?.[0] ?? "rate";
  return { column, rising: wanted.startsWith("-") !== (column === "from" || column === "to") };
}

export function inOrder(calls: readonly Call[], { column, rising }: Order): Call[] {
  const value = (call: Call): string | number => call[column];
  const direction = rising ? 1 : -1;
  return [...calls].sort((one, other) => {
    const [left, right] = [value(one), value(other)];
    const difference =
      typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right));
    return direction * difference || one.key.localeCompare(other.key);
  });
}

/** From 1 pixel for the rarest to 6 for the most frequent, by the logarithm. */
export function strokeWidth(rate: number, all: readonly Call[]): number {
  const rates = all.map((call) => call.rate).filter((one) => one > 0);
  const [least, most] = [Math.min(...rates), Math.max(...rates)];
  if (rate <= 0 || !(most > least)) return 1.5;
  return 1 + (5 * Math.log(rate / least)) / Math.log(most / least);
}
