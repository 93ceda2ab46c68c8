import { expect, it } from "vitest";
import { heatOf } from "./heat";
import { boxDragged, cellUnder, gripAt, plotOf, rectangleOf } from "./plot";

const heat = heatOf({
  ...{ start_time_unix_nano: "0", step_nano: 1e9, columns: 10, row_bounds_nano: [0, 1, 2, 3, 4, 5], cells: [] },
  ...{ spans: 0, errors: 0, max_nano: 0, errors_exact: true },
});
const plot = plotOf(800, 400, 12);

it("leaves room for the axes inside of the canvas", () => {
  expect(plot.left + plot.width).toBeLessThan(800);
  expect(plot.laneTop + plot.laneHeight).toBeLessThan(400 - 12);
});

it("draws a cell where the pointer finds it", () => {
  const drawn = rectangleOf(heat, plot, { left: 3, right: 3, low: 4, high: 4 });
  const middle = { x: drawn.x + drawn.width / 2, y: drawn.y + drawn.height / 2 };
  expect(cellUnder(heat, plot, middle)).toEqual({ column: 3, row: 4 });
  expect(drawn.y).toBe(plot.top);
});

it("takes whole columns from below the cells, whole rows from beside them", () => {
  const [from, to] = [
    { column: 2, row: 1 },
    { column: 4, row: 3 },
  ];
  expect(gripAt(plot, { x: 300, y: plot.laneTop + 1 })).toBe("columns");
  expect(gripAt(plot, { x: 3, y: 50 })).toBe("rows");
  expect(gripAt(plot, { x: 300, y: 50 })).toBe("cells");
  expect(boxDragged(heat, "cells", to, from)).toEqual({ left: 2, right: 4, low: 1, high: 3 });
  expect(boxDragged(heat, "columns", from, to)).toEqual({ left: 2, right: 4, low: 0, high: 4 });
  expect(boxDragged(heat, "rows", from, to)).toEqual({ left: 0, right: 9, low: 1, high: 3 });
});
