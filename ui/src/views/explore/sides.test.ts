import { expect, it } from "vitest";
import { countedSides, sideText } from "./sides";

const side = (spans: number, looked_at: number, estimated = false) => ({ spans, looked_at, estimated });

it("says how many of a side were looked at", () => {
  expect(sideText(side(15, 15))).toBe("15");
  expect(sideText(side(3210, 1103, true))).toBe("1,103 of about 3,210");
});

it("takes the others from the heatmap where the server estimates them", () => {
  const sides = { selected: side(15, 15), rest: side(3210, 1103, true) };
  expect(countedSides(sides, 3298).rest).toEqual(side(3283, 1103));
  expect(countedSides(sides, undefined)).toEqual(sides);
  expect(countedSides({ ...sides, selected: side(2000, 15, true) }, 3298).rest).toEqual(side(1298, 1103, true));
});

it("leaves what was counted, and what cannot be right", () => {
  const counted = { selected: side(15, 15), rest: side(70, 70) };
  expect(countedSides(counted, 90)).toEqual(counted);
  const grown = { selected: side(15, 15), rest: side(3210, 1103, true) };
  expect(countedSides(grown, 800)).toEqual(grown);
});
