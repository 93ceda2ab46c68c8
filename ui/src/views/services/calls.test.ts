import { expect, it } from "vitest";
import type { GraphEdge } from "@/api/generated/answers";
import { inOrder, readOrder } from "@/parts/order";
import { callsNamed, callsOf, COLUMNS, spansOf, strokeWidths } from "./calls";

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
  const callees = (sort?: string) => inOrder(calls, COLUMNS, readOrder(sort, COLUMNS, "rate")).map(({ to }) => to);
  expect(callees()).toEqual(["shop/cart", "shop/pay"]);
  expect(callees("-rate")).toEqual(["shop/pay", "shop/cart"]);
  expect(callees("to")).toEqual(["shop/cart", "shop/pay"]);
  expect(callees("-to")).toEqual(["shop/pay", "shop/cart"]);
});

it("draws frequent calls thicker", () => {
  const widths = (...rates: number[]) => strokeWidths(rates.map((rate) => ({ ...calls[0]!, rate })));
  expect(widths(10, 0.1, 0)).toEqual([6, 1, 1.5]);
  expect(widths(1)).toEqual([1.5]);
  expect(widths()).toEqual([]);
});

it("finds calls by either end", () => {
  expect(callsNamed(calls, " CART").map(({ to }) => to)).toEqual(["shop/cart"]);
  expect(callsNamed(calls, "web")).toHaveLength(2);
  expect(callsNamed(calls, "")).toBe(calls);
});

it("names the namespace where two services have one name", () => {
  const node = (namespace: string, service: string) => ({ ...services[0]!, namespace, service, name: service });
  const all = [node("a", "web"), node("b", "web"), node("", "web"), node("a", "db")];
  expect(all.map((one) => spansOf(one, all))).toEqual([
    { service: "web", where: "service.namespace=a" },
    { service: "web", where: "service.namespace=b" },
    { service: "web" },
    { service: "db" },
  ]);
});
