// Where things lie on the heatmap's canvas, in CSS pixels: the cells, the lane of errors below them, the axes.
import type { Box, Heat } from "./heat";
import { boxBetween, cellAt, type Cell } from "./selection";

export interface Plot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly laneTop: number;
  readonly laneHeight: number;
}

/** Strips below the heatmap share its left and right edge, so that times stand below each other. */
export const EDGE = { leftEm: 5, rightEm: 0.9 };

export function plotOf(width: number, height: number, em: number): Plot {
  const left = EDGE.leftEm * em;
  const laneHeight = Math.round(0.9 * em);
  const cells = Math.max(height - 2.6 * em - laneHeight, 1);
  return {
    ...{ left, top: Math.round(0.5 * em), width: Math.max(width - left - EDGE.rightEm * em, 1), height: cells },
    ...{ laneTop: Math.round(0.5 * em) + cells + 3, laneHeight },
  };
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** What a drag that began there takes: cells; below the cells, whole columns; left of them, whole rows. */
export type Grip = "cells" | "columns" | "rows";

export function gripAt(plot: Plot, { x, y }: Point): Grip {
  if (y > plot.top + plot.height) return "columns";
  return x < plot.left ? "rows" : "cells";
}

export function cellUnder(heat: Heat, plot: Plot, { x, y }: Point): Cell {
  return cellAt(heat, x - plot.left, y - plot.top, plot.width, plot.height);
}

export function boxDragged(heat: Heat, grip: Grip, from: Cell, to: Cell): Box {
  const box = boxBetween(from, to);
  if (grip === "columns") return { ...box, low: 0, high: heat.rows - 1 };
  return grip === "rows" ? { ...box, left: 0, right: heat.columns - 1 } : box;
}

export interface Rectangle extends Point {
  readonly width: number;
  readonly height: number;
}

export function rectangleOf(heat: Heat, plot: Plot, { left, right, low, high }: Box): Rectangle {
  const [across, up] = [plot.width / heat.columns, plot.height / heat.rows];
  return {
    ...{ x: plot.left + left * across, width: (right - left + 1) * across },
    ...{ y: plot.top + (heat.rows - 1 - high) * up, height: (high - low + 1) * up },
  };
}
