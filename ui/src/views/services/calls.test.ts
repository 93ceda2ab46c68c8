import { expect, it } from "vitest";
import type { GraphEdge } from "@/api/generated/answers";
import { callsOf, inOrder, readOrder, strokeWidth } from "./calls";

const percentiles = { p50_nano: 1, p90_nano: 2, p95_nano: 3, p99_nano: 4, p999_nano: 5, max_nano: 6 };
const edge = (caller: string, callee: string, calls: number, errors: number): GraphEdge => ({
  ...{ caller, caller_namespace: "", callee, callee_namespace: "shop", calls, errors },
  ...percentiles,
});
const web = { service: "web", service_namespace: "", spans: 60, errors: 6, ...percentiles };
const { services, calls } = callsOf(
  {
    services: [web],
    edges: [edge("web", "cart", 600, 3), edge("web", "pay", 6, 0)],
    ...{ traces: 1, traces_looked_at: 1 },
  },
  60,
);

it("has rates, and every service that an edge names", () => {
  expect(services.map(({ name, service, rate }) => [name, service, rate])).toEqual([
    ["web", "web", 1],
    ["shop/cart", "cart", 0],
    ["shop/pay", "pay", 0],
  ]);
  expect(calls.map(({ from, to, rate, errorShare }) => [from, to, rate, errorShare])).toEqual([
    ["web", "shop/cart", 10, 0.005],
    ["web", "shop/pay", 0.1, 0],
  ]);
});

it("sorts the greatest first, names from a", () => {
  const callees = (sort?: string) => inOrder(calls, readOrder(sort)).map(({ to }) => to);
  expect(callees()).toEqual(["shop/cart", "shop/pay"]);
  expect(callees("-rate")).toEqual(["shop/pay", "shop/cart"]);
  expect(callees("to")).toEqual(["shop/cart", "shop/pay"]);
  expect(callees("-to")).toEqual(["shop/pay", "shop/cart"]);
});

it("draws frequent calls thicker", () => {
  expect(strokeWidth(10, calls)).toBe(6);
  expect(strokeWidth(0.1, calls)).toBe(1);
  expect(strokeWidth(0, calls)).toBe(1.5);
  expect(strokeWidth(1, [])).toBe(1.5);
});
