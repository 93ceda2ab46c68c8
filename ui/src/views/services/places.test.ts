import { describe, expect, it } from "vitest";
import { apart, drawn, neighbour } from "./places";

const SIZES = { boxWidth: 100, boxHeight: 40, across: 80, down: 20 };
const names = ["db", "web", "cart", "pay"];
const links = [
  { from: "web", to: "cart" },
  { from: "web", to: "pay" },
  { from: "cart", to: "db" },
  { from: "web", to: "db" },
  { from: "db", to: "cart" },
  { from: "pay", to: "pay" },
];
const drawing = drawn(names, links, 400, SIZES);
const box = (name: string) => drawing.boxes.find((one) => one.name === name)!;

describe("boxes", () => {
  it("never overlap", () => {
    for (const one of drawing.boxes) {
      for (const other of drawing.boxes) {
        if (one === other || one.layer !== other.layer) continue;
        expect(Math.abs(one.y - other.y)).toBeGreaterThanOrEqual(SIZES.boxHeight + SIZES.down - 0.01);
      }
    }
  });
  it("lie within the drawing", () => {
    for (const { x, y } of drawing.boxes) {
      expect(x).toBeGreaterThanOrEqual(0);
      expect(y).toBeGreaterThanOrEqual(0);
      expect(x + SIZES.boxWidth).toBeLessThanOrEqual(drawing.width);
      expect(y + SIZES.boxHeight).toBeLessThanOrEqual(drawing.height);
    }
  });
  it("take the room that there is, up to a distance", () => {
    expect(drawing.width).toBe(460);
    expect(drawn(names, links, 600, SIZES).width).toBe(600);
    expect(drawn(names, links, 6000, SIZES).width).toBe(2 * 180 * 1.6 + 100);
    expect(drawn([], [], 600, SIZES)).toMatchObject({ boxes: [], wires: [] });
  });
});

describe("edges", () => {
  it("go from the caller's right side to the callee's left", () => {
    const [wire] = drawing.wires;
    expect(wire?.path.startsWith(`M${box("web").x + 100} ${box("web").y + 20}C`)).toBe(true);
    expect(wire?.path.endsWith(` ${box("cart").x} ${box("cart").y + 20}`)).toBe(true);
  });
  it("go back from the left side to the right, beside the way there", () => {
    const back = drawing.wires[4];
    expect(back?.path.startsWith(`M${box("db").x} `)).toBe(true);
    expect(back?.labelY).not.toBe(drawing.wires[2]?.labelY);
  });
  it("are none for a service that calls itself", () => expect(drawing.wires[5]).toBeUndefined());
});

it("arrows lead to neighbours", () => {
  expect(neighbour(drawing.boxes, box("web"), "ArrowRight")?.layer).toBe(1);
  expect(neighbour(drawing.boxes, box("web"), "ArrowLeft")).toBeUndefined();
  const [upper, lower] = [box("cart"), box("pay")].sort((one, other) => one.y - other.y);
  expect(neighbour(drawing.boxes, upper!, "ArrowDown")).toBe(lower);
  expect(neighbour(drawing.boxes, upper!, "ArrowUp")).toBeUndefined();
});

it("labels do not lie on each other", () => {
  const wire = (labelX: number, labelY: number) => ({ path: "", labelX, labelY, tip: { x: 0, y: 0 }, back: false });
  const placed = apart([wire(0, 10), wire(5, 12), undefined, wire(500, 11), wire(0, 11)], 100, 14);
  expect(placed.map((one) => one?.labelY)).toEqual([10, 38, undefined, 11, 24]);
});

it.each([5, 20, 100, 500])("labels of %i wires come apart, whatever the size of the text", (count) => {
  for (let em = 13; em <= 28; em += 0.7) {
    const [width, height] = [9.5 * em, 1.1 * em];
    const wires = Array.from({ length: count }, (_, at) => ({
      ...{ path: "", tip: { x: 0, y: 0 }, back: false },
      labelX: (at % 5) * 40.1,
      labelY: ((at * 7919) % 97) / 10 + Math.floor(at / 3) * 0.7,
    }));
    const placed = apart(wires, width, height).map((one) => one!);
    for (const column of [0, 1, 2, 3, 4]) {
      const all = placed.filter(({ labelX }) => labelX === column * 40.1).map(({ labelY }) => labelY);
      all.sort((one, other) => one - other);
      // Places are told to a tenth of a pixel.
      for (let at = 1; at < all.length; ++at) expect(all[at]! - all[at - 1]!).toBeGreaterThan(height - 0.15);
    }
  }
});
