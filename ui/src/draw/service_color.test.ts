import { describe, expect, it } from "vitest";
import { colorsOf, slotsOf } from "./service_color";

const names = (count: number) => Array.from({ length: count }, (_, at) => `service-${at}`);

describe("colours of services", () => {
  it("are all different while there are as many", () => {
    const colors = colorsOf(names(36));
    expect(new Set(names(36).map((name) => colors(name, false))).size).toBe(36);
    expect(new Set(names(36).map((name) => colors(name, true))).size).toBe(36);
  });

  it("of four are no neighbours on the wheel", () => {
    for (const all of [["gateway", "orders", "payments", "catalog"], names(4), ["load", "shop", "inventory", "a"]]) {
      const slots = [...slotsOf(all).values()].sort((one, other) => one - other);
      slots.forEach((slot, at) => expect(((slots[(at + 1) % 4] ?? 0) - slot + 12) % 12).toBeGreaterThan(1));
    }
  });

  it("do not depend on the order, nor on how often one is named", () => {
    const all = ["payments", "orders", "gateway", "catalog"];
    expect(slotsOf([...all].reverse().concat(all))).toEqual(slotsOf(all));
  });

  it("begin with as many hues as there are before one comes again", () => {
    expect(new Set([...slotsOf(names(12)).values()].map((slot) => slot % 12)).size).toBe(12);
  });

  it("have one for whoever comes after all, or was not named", () => {
    const colors = colorsOf(names(100));
    expect(colors("service-99", false)).toMatch(/^oklch\(/);
    expect(colors("another", false)).toMatch(/^oklch\(/);
  });
});
