import { expect, it } from "vitest";
import { formatPlace, parsePlace, withQuery, type Place } from "./place";

const places: Place[] = [
  { view: "explore", query: {} },
  { view: "explore", query: { service: "shop & co", since: "15m" } },
  { view: "trace", id: "4bf92f3577b34da6a3ce929d0e0e4736", query: { span: "00f067aa0ba902b7" } },
  { view: "timeline", id: "4bf92f3577b34da6a3ce929d0e0e4736", query: {} },
  { view: "services", query: {} },
  { view: "snapshot", id: "ab12", query: { tid: "7" } },
];

it.each(places)("an address brings back its place: %j", (place) => {
  const [path = "", search = ""] = formatPlace(place).split("?");
  expect(parsePlace(path, search)).toEqual(place);
});

it.each([
  "/nowhere",
  "/trace",
  "/trace/1/2/3",
  "/services/4",
  "/explore/5",
  "/trace/%zz",
  "/trace//timeline",
  "/services/",
])("%s is no place", (path) => {
  expect(parsePlace(path, "")).toBeUndefined();
});

it("/explore is the first view, too", () => {
  expect(parsePlace("/explore", "?a=1")).toEqual({ view: "explore", query: { a: "1" } });
});

it("changes words of the query, and leaves the others", () => {
  const place: Place = { view: "explore", query: { a: "1", b: "2" } };
  expect(withQuery(place, { a: undefined, c: "3" }).query).toEqual({ b: "2", c: "3" });
});

it("takes every one of a word that is repeated", () => {
  expect(parsePlace("/", "?where=a%3Db&where=c%3Dd&zone=utc")?.query).toEqual({ where: "a=b\nc=d", zone: "utc" });
});
