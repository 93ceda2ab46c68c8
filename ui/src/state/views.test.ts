import { expect, it } from "vitest";
import { formatPlace, parsePlace } from "./place";
import { pathOf, TABS, titleOf, VIEW_NAMES, VIEWS } from "./views";

it.each(VIEW_NAMES)("%s has an address that leads back to it, and a title", (view) => {
  const place = VIEWS[view].withId ? { view, id: "ab/1 2", query: {} } : { view, query: {} };
  expect(parsePlace(formatPlace(place), "")).toEqual(place);
  expect(titleOf(view, undefined, undefined)).toBe(`${VIEWS[view].title} · fathom`);
});

it("has each path, and each key, once", () => {
  expect(new Set(VIEW_NAMES.map(pathOf)).size).toBe(VIEW_NAMES.length);
  expect(TABS.map(({ key }) => key).join("")).toBe("12345");
  expect(TABS.every(({ view }) => !VIEWS[view].withId)).toBe(true);
});

it("says in the title what is shown", () => {
  expect(titleOf("trace", "4bf92f3577b34da6", "checkout POST /pay")).toBe(
    "checkout POST /pay · Trace 4bf92f35 · fathom",
  );
  expect(titleOf(undefined, undefined, undefined)).toBe("fathom");
});
