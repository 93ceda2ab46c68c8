import { expect, it } from "vitest";
import { onward, withWordsOf } from "./carried";
import type { Place } from "./place";

const range = { from: "2026-11-21T14:00:00Z", to: "2026-11-21T15:00:00Z" };
const explorer: Place = { view: "explore", query: { ...range, zone: "utc", service: "checkout", where: "a=b" } };

it("takes time, clock and service along, and leaves what is of the view", () => {
  const query = { ...range, zone: "utc", service: "checkout" };
  expect(onward(explorer, { view: "services", query: {} })).toEqual({ view: "services", query });
  expect(onward(explorer, { view: "captures", query: { trigger: "slow" } }).query).toEqual({
    ...query,
    trigger: "slow",
  });
});

it("keeps the time through a trace, for the way back", () => {
  const trace = onward(explorer, { view: "trace", id: "ab", query: { span: "cd" } });
  expect(trace.query).toEqual({ span: "cd", ...range, zone: "utc" });
  const timeline = onward(trace, { view: "timeline", id: "ab", query: {} });
  expect(onward(timeline, { view: "explore", query: {} }).query).toEqual({ ...range, zone: "utc" });
});

it("goes behind what the link says, and never mixes two ranges", () => {
  const link: Place = { view: "services", query: { since: "6h", service: "cart" } };
  expect(onward(explorer, link).query).toEqual({ since: "6h", service: "cart", zone: "utc" });
});

it("leaves the time behind where a list is of one trace", () => {
  expect(onward(explorer, { view: "captures", query: { trace_id: "ab" } }).query).toEqual({
    trace_id: "ab",
    zone: "utc",
  });
});

it("gives a snapshot no instants: there these words are patterns", () => {
  expect(onward(explorer, { view: "snapshot", id: "1", query: {} }).query).toEqual({ zone: "utc" });
  const snapshot: Place = { view: "snapshot", id: "1", query: { from: "call", to: "return" } };
  expect(onward(snapshot, { view: "explore", query: {} }).query).toEqual({});
});

it("adds nothing within a view, where a word may just have been taken out", () => {
  expect(onward(explorer, { view: "explore", query: {} }).query).toEqual({});
  expect(withWordsOf(explorer, { view: "explore", query: {} }).query).toEqual({
    ...range,
    zone: "utc",
    service: "checkout",
  });
  expect(onward(undefined, { view: "explore", query: {} }).query).toEqual({});
});
