import { describe, expect, it } from "vitest";
import { acyclic, crossings, depths, layered, type Link } from "./layers";

const links = (...texts: string[]): Link[] =>
  texts.map((text) => {
    const [from = "", to = ""] = text.split(">");
    return { from, to };
  });
const shown = (layers: readonly (readonly string[])[]) =>
  layers.map((layer) => layer.map((name) => (name.startsWith("\0") ? "·" : name)).join(" "));

describe("layers", () => {
  it("have callers before whom they call, by the longest path", () => {
    const all = links("web>cart", "web>pay", "cart>db", "pay>bank", "bank>db");
    expect(Object.fromEntries(depths(["web", "cart", "pay", "bank", "db"], all))).toEqual({
      ...{ web: 0, cart: 1, pay: 1, bank: 2, db: 3 },
    });
  });
  it("let long edges pass beside services", () => {
    const { layers, paths } = layered(["a", "b", "c"], links("a>b", "b>c", "a>c"));
    expect(shown(layers).map((text) => text.split(" ").sort().join(" "))).toEqual(["a", "b ·", "c"]);
    expect(paths[2]).toHaveLength(3);
    expect(paths[2]?.[0]).toBe("a");
    expect(paths[2]?.[2]).toBe("c");
  });
  it("keep services that nobody calls and that call nobody", () => {
    expect(layered(["x", "y"], []).layers).toEqual([["x", "y"]]);
  });
  it("are the same in whatever order the graph comes", () => {
    const [names, all] = [["a", "b", "c", "d"], links("a>c", "a>d", "b>c", "c>d")];
    const other = layered([...names].reverse(), [...all].reverse());
    expect(other.layers).toEqual(layered(names, all).layers);
  });
});

describe("cycles", () => {
  it("are opened where they come back", () => {
    expect(acyclic(["a", "b", "c"], links("a>b", "b>c", "c>a"))).toEqual(links("a>b", "b>c", "a>c"));
  });
  it("keep both directions between two services, drawn along one another", () => {
    const { paths, layers } = layered(["a", "b", "r"], links("r>a", "a>b", "b>a"));
    expect(shown(layers)).toEqual(["r", "a", "b"]);
    expect(paths).toEqual([
      ["r", "a"],
      ["a", "b"],
      ["b", "a"],
    ]);
  });
  it("leave no way for a service that calls itself", () => {
    expect(layered(["a"], links("a>a"))).toEqual({ layers: [["a"]], paths: [[]] });
  });
});

describe("order", () => {
  it("counts crossings", () => {
    const steps = links("a>x", "b>y");
    expect(
      crossings(
        [
          ["a", "b"],
          ["x", "y"],
        ],
        steps,
      ),
    ).toBe(0);
    expect(
      crossings(
        [
          ["a", "b"],
          ["y", "x"],
        ],
        steps,
      ),
    ).toBe(1);
  });
  it("avoids those that can be avoided", () => {
    const all = links("a>z", "b>y", "c>x", "a>y", "b>x");
    const { layers } = layered(["a", "b", "c", "x", "y", "z"], all);
    expect(crossings(layers, all)).toBe(0);
  });
});
