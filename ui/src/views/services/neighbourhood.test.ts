import { describe, expect, it } from "vitest";
import type { Call, Calls } from "./calls";
import { busiest, drawnOf, MOST_WHOLE, neighboursOf } from "./neighbourhood";
import { apart, drawn } from "./places";

const SIZES = { boxWidth: 160, boxHeight: 48, across: 150, down: 20 };

function call(from: string, to: string, rate: number): Call {
  return { key: `${from}\n${to}`, from, to, rate, errorShare: 0, p50_nano: 1, p99_nano: 2 };
}

function graph(names: readonly string[], calls: readonly Call[]): Calls {
  const services = names.map((name) => ({
    ...{ name, service: name, namespace: "", rate: 1, errorShare: 0, p99_nano: 1 },
  }));
  return { services, calls };
}

/** The same for the same numbers: cycles, loops, hubs. */
function madeGraph(count: number, seed: number): Calls {
  let state = seed * 7919 + count;
  const chance = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const names = Array.from({ length: count }, (_, at) => `service-${at}`);
  // Some are called by very many.
  const any = () => names[Math.floor(chance() ** 2 * count)] ?? "";
  const calls = new Map<string, Call>();
  for (let at = 0; at < count * 5; ++at) {
    const one = call(any(), any(), chance() * 100);
    calls.set(one.key, one);
  }
  return graph(names, [...calls.values()]);
}

describe.each([5, 20, 60, 61, 200, 1000])("of %i services", (count) => {
  it.each([1, 2, 3])("what is drawn fits, and soon (%i)", (seed) => {
    const all = madeGraph(count, seed);
    const begin = performance.now();
    const shown = drawnOf(all, undefined);
    const names = shown.services.map(({ name }) => name);
    const { boxes, wires, height } = drawn(names, shown.calls, 1200, SIZES, shown.layerOf);
    const labels = apart(wires, 9.5 * 14, 1.1 * 14);
    // A hundredth of it is usual; the bound is for what grows with the square of the fleet.
    expect(performance.now() - begin).toBeLessThan(1500);
    expect(boxes.map(({ name }) => name).sort()).toEqual([...names].sort());
    expect(names.length).toBeLessThanOrEqual(MOST_WHOLE);
    expect(labels).toHaveLength(shown.calls.length);
    if (shown.centre !== undefined) {
      expect(new Set(boxes.map(({ layer }) => layer)).size).toBeLessThanOrEqual(5);
      expect(height).toBeLessThan(1200);
      expect(names).toContain(shown.centre);
      expect(labels.every((wire) => wire !== undefined)).toBe(true);
    }
  });
});

describe("around one of many", () => {
  const many = Array.from({ length: 100 }, (_, at) => `s${at}`);
  const all = graph(
    [...many, "hub", "web", "db"],
    [
      ...many.map((name, at) => call("hub", name, at + 1)),
      call("web", "hub", 7),
      call("hub", "web", 1),
      call("s99", "db", 3),
      call("db", "s99", 3),
      call("s98", "s99", 3),
    ],
  );

  it("is the one with the most calls, unless another one is asked for", () => {
    expect(busiest(all)).toBe("hub");
    expect(drawnOf(all, undefined).centre).toBe("hub");
    expect(drawnOf(all, "db").centre).toBe("db");
    expect(drawnOf(all, "gone").centre).toBe("hub");
  });

  it("has callers to the left, callees to the right, the most frequent first, and says how many are not drawn", () => {
    const { layerOf, hidden, calls } = drawnOf(all, "hub");
    expect([layerOf?.get("web"), layerOf?.get("hub"), layerOf?.get("s99"), layerOf?.get("db")]).toEqual([0, 1, 2, 3]);
    expect(layerOf?.has("s92")).toBe(true);
    expect(layerOf?.has("s91")).toBe(false);
    expect(hidden).toBe(92);
    const keys = calls.map(({ key }) => key.replace("\n", ">"));
    expect(keys).toContain("hub>web");
    expect(keys).toContain("s99>db");
    expect(layerOf?.get("db")).toBe(3);
    expect(keys).not.toContain("db>s99");
    expect(keys).not.toContain("s98>s99");
  });
});

it("knows who is beside whom", () => {
  const beside = neighboursOf([call("a", "b", 1), call("c", "a", 1), call("d", "d", 1)]);
  expect([...(beside.get("a") ?? [])].sort()).toEqual(["a", "b", "c"]);
  expect([...(beside.get("d") ?? [])]).toEqual(["d"]);
});
