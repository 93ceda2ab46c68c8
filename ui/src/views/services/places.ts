// Places: where the layers' boxes and edges are drawn, in CSS pixels.
import { layered, type Link } from "./layers";

export interface Box {
  readonly name: string;
  readonly layer: number;
  readonly x: number;
  readonly y: number;
}

export interface Wire {
  /** SVG's path data. */
  readonly path: string;
  /** Where what it carries is written. */
  readonly labelX: number;
  readonly labelY: number;
  /** The arrow's point, and whether it points to the left. */
  readonly tip: { readonly x: number; readonly y: number };
  readonly back: boolean;
}

export interface Drawing {
  readonly boxes: readonly Box[];
  /** For each link, in the given order; undefined for a service that calls itself. */
  readonly wires: readonly (Wire | undefined)[];
  readonly width: number;
  readonly height: number;
}

export interface Sizes {
  readonly boxWidth: number;
  readonly boxHeight: number;
  readonly across: number;
  readonly down: number;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

export function drawn(
  names: readonly string[],
  links: readonly Link[],
  width: number,
  sizes: Sizes,
  layerOf?: ReadonlyMap<string, number>,
): Drawing {
  const { layers, paths } = layered(names, links, layerOf);
  const step = layerStep(layers.length, width, sizes);
  const ys = heights(layers, paths, sizes);
  const at = new Map<string, Point>();
  layers.forEach((layer, number) => {
    for (const name of layer) at.set(name, { x: number * step, y: ys.get(name) ?? 0 });
  });
  const boxes = layers.flatMap((layer, number) =>
    layer
      .filter((name) => !name.startsWith("\0"))
      .map((name) => ({ name, layer: number, ...(at.get(name) ?? ORIGIN) })),
  );
  const wires = paths.map((path) =>
    wireOf(
      path.map((name) => at.get(name) ?? ORIGIN),
      sizes,
    ),
  );
  const lowest = Math.max(0, ...ys.values());
  return {
    ...{ boxes, wires, height: lowest + sizes.boxHeight },
    width: Math.max(layers.length - 1, 0) * step + sizes.boxWidth,
  };
}

const ORIGIN: Point = { x: 0, y: 0 };

// Wide windows spread the layers, up to a distance at which edges are still followed easily.
function layerStep(layers: number, width: number, { boxWidth, across }: Sizes): number {
  const least = boxWidth + across;
  if (layers < 2) return least;
  return Math.max(least, Math.min((width - boxWidth) / (layers - 1), least * 1.6));
}

const ROUNDS = 12;

// Each wants to be level with its neighbours; none may come nearer than `down` to the one above it.
function heights(
  layers: readonly (readonly string[])[],
  paths: readonly (readonly string[])[],
  { boxHeight, down }: Sizes,
) {
  const apart = boxHeight + down;
  const tallest = Math.max(...layers.map((layer) => layer.length), 1);
  const ys = new Map<string, number>();
  for (const layer of layers) {
    layer.forEach((name, at) => ys.set(name, (at + (tallest - layer.length) / 2) * apart));
  }
  const neighbours = neighboursOf(paths);
  for (let round = 0; round < ROUNDS; ++round) {
    for (const layer of round % 2 === 0 ? layers : [...layers].reverse()) level(layer, neighbours, ys, apart);
  }
  const top = Math.min(...ys.values());
  return new Map([...ys].map(([name, y]) => [name, y - top]));
}

function neighboursOf(paths: readonly (readonly string[])[]): Map<string, string[]> {
  const neighbours = new Map<string, string[]>();
  const put = (name: string, other: string): unknown => neighbours.set(name, [...(neighbours.get(name) ?? []), other]);
  for (const path of paths) {
    path.slice(1).forEach((to, at) => {
      const from = path[at] ?? "";
      put(from, to);
      put(to, from);
    });
  }
  return neighbours;
}

function level(
  layer: readonly string[],
  neighbours: ReadonlyMap<string, string[]>,
  ys: Map<string, number>,
  apart: number,
) {
  const wanted = layer.map((name) => {
    const places = (neighbours.get(name) ?? []).map((other) => ys.get(other) ?? 0);
    return places.length > 0 ? places.reduce((sum, y) => sum + y, 0) / places.length : (ys.get(name) ?? 0);
  });
  const placed: number[] = [];
  wanted.forEach((y, at) => placed.push(at === 0 ? y : Math.max(y, (placed[at - 1] ?? 0) + apart)));
  // What was pushed down moves everybody up by half of it, so that the layer stays around where it wants to be.
  const pushed = placed.reduce((sum, y, at) => sum + y - (wanted[at] ?? y), 0) / Math.max(layer.length, 1);
  layer.forEach((name, at) => ys.set(name, (placed[at] ?? 0) - pushed));
}

function wireOf(points: readonly Point[], { boxWidth, boxHeight }: Sizes): Wire | undefined {
  const [begin, end] = [points[0], points[points.length - 1]];
  if (!begin || !end || points.length < 2) return undefined;
  const forward = begin.x < end.x;
  const middle = boxHeight / 2;
  // There and back between two services are two lines.
  const shift = forward ? 0 : boxHeight / 4;
  const anchors = points.map(({ x, y }, at) => ({
    x:
      at === 0
        ? forward
          ? x + boxWidth
          : x
        : at === points.length - 1
          ? forward
            ? x
            : x + boxWidth
          : x + boxWidth / 2,
    y: y + middle + shift,
  }));
  const parts = anchors.slice(1).map((to, at) => curve(anchors[at] ?? to, to));
  const first = anchors[0] ?? ORIGIN;
  const [before = first, last = first] = anchors.slice(-2);
  return {
    path: `M${round(first.x)} ${round(first.y)}${parts.join("")}`,
    labelX: round((before.x + last.x) / 2),
    labelY: round((before.y + last.y) / 2),
    tip: { x: round(last.x), y: round(last.y) },
    back: !forward,
  };
}

function curve(from: Point, to: Point): string {
  const half = round((from.x + to.x) / 2);
  return `C${half} ${round(from.y)} ${half} ${round(to.y)} ${round(to.x)} ${round(to.y)}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The box that an arrow key leads to: up and down within the layer, left and right to the nearest in the next. */
export function neighbour(boxes: readonly Box[], from: Box, key: string): Box | undefined {
  if (key === "ArrowUp" || key === "ArrowDown") {
    const layer = boxes.filter((box) => box.layer === from.layer).sort((one, other) => one.y - other.y);
    return layer[layer.findIndex(({ name }) => name === from.name) + (key === "ArrowUp" ? -1 : 1)];
  }
  const beside = boxes.filter((box) => box.layer === from.layer + (key === "ArrowLeft" ? -1 : 1));
  return beside.sort((one, other) => Math.abs(one.y - from.y) - Math.abs(other.y - from.y))[0];
}

/** Labels that would lie on each other move down, each by as little as it takes. */
export function apart(wires: readonly (Wire | undefined)[], width: number, height: number): (Wire | undefined)[] {
  const taken: Point[] = [];
  const result = [...wires];
  const byPlace = wires
    .map((_, at) => at)
    .sort((one, other) => (wires[one]?.labelY ?? 0) - (wires[other]?.labelY ?? 0));
  for (const at of byPlace) {
    const wire = wires[at];
    if (!wire) continue;
    const beside = taken.filter(({ x }) => Math.abs(x - wire.labelX) < width).map(({ y }) => y);
    const y = freeBelow(wire.labelY, beside, height);
    taken.push({ x: wire.labelX, y });
    result[at] = { ...wire, labelY: round(y) };
  }
  return result;
}

/** From the top down each is looked at once: that sums of fractions are not exact cannot lead back to one. */
function freeBelow(from: number, taken: readonly number[], height: number): number {
  return [...taken]
    .sort((one, other) => one - other)
    .reduce((y, other) => (Math.abs(other - y) < height ? other + height : y), from);
}
