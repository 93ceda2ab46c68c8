import { expect, it } from "vitest";
import { fitted, formatViewport, nanoOf, panned, parseViewport, pixelOf, showing, zoomed } from "./viewport";

const bounds = { begin: 0, duration: 3_600e9 };

it("tells single nanoseconds apart an hour after the start", () => {
  const view = { begin: 3_599_999_999_980, duration: 20 };
  expect(pixelOf(view, 1000, 3_599_999_999_987)).toBe(350);
  expect(nanoOf(view, 1000, 350)).toBe(3_599_999_999_987);
});

it("keeps what is below the pointer where it is, from an hour to nanoseconds and back", () => {
  const at = 1_234_567_890_123;
  let view = fitted(bounds, 0);
  for (let step = 0; step < 200; ++step) view = zoomed(view, 0.8, pixelOf(view, 1, at), bounds);
  expect(view.duration).toBe(20);
  expect(Math.abs(nanoOf(view, 1, pixelOf(view, 1, at)) - at)).toBeLessThan(0.01);
  expect(view.begin).toBeLessThanOrEqual(at);
  expect(view.begin + view.duration).toBeGreaterThanOrEqual(at);
});

it("keeps something in sight, and zooms out no further than there is something to see", () => {
  expect(zoomed({ begin: 0, duration: 1e9 }, 1e9, 0.5, bounds).duration).toBe(bounds.duration * 1.5);
  const far = panned({ begin: 0, duration: 100 }, 1e18, bounds);
  expect(far.begin).toBe(bounds.duration - 50);
  expect(panned({ begin: 0, duration: 100 }, -1e18, bounds).begin).toBe(-50);
});

it("moves no more than is needed", () => {
  const view = { begin: 1000, duration: 1000 };
  expect(showing(view, 1200, 1300, bounds)).toBe(view);
  expect(showing(view, 500, 600, bounds)).toEqual({ begin: 400, duration: 1000 });
  expect(showing(view, 3000, 3100, bounds)).toEqual({ begin: 2200, duration: 1000 });
});

it("goes into an address and comes back", () => {
  for (const view of [
    { begin: -2500, duration: 1_000_000 },
    { begin: 17.125, duration: 20 },
  ]) {
    expect(parseViewport(formatViewport(view))).toEqual(view);
  }
  for (const wrong of [undefined, "", "1", "1~2", "a~b", "1~1e999", "1~50~3"]) {
    expect(parseViewport(wrong)).toBeUndefined();
  }
});
