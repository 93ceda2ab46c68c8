import { expect, it } from "vitest";
import { findCriticalPath } from "./criticalPath";
import { compareWithMany, nearestRank } from "./ensemble";
import { madeTrace, type SpanWords } from "./made";
import { saidOtherwise } from "./said";
import { buildTree } from "./tree";

function side(words: readonly SpanWords[], resource: Record<string, unknown> = {}) {
  const answer = madeTrace(words, { resources: [{ service: "shop", attributes: resource }] });
  const tree = buildTree(answer, "corrected");
  return { answer, tree, path: findCriticalPath(tree) };
}

const request = (select: number, more: readonly SpanWords[] = [], said: Record<string, unknown> = {}) => [
  { id: "r", from: 0, to: select + 20, operation: "GET" },
  { id: "s", parent: "r", from: 10, to: 10 + select, operation: "SELECT", attributes: said },
  ...more,
];
const cache = { id: "c", parent: "r", from: 2, to: 6, operation: "cache" };
const usual = [10, 12, 14, 16, 90].map((select, at) =>
  side(request(select, at < 2 ? [cache] : [], { tenant: at === 0 ? "umbrella" : "acme", id: `${at}` }), {
    "service.version": "1",
    zone: "a",
  }),
);
const slow = side(request(500, [{ ...cache, operation: "lock" }], { tenant: "umbrella", id: "x" }), {
  "service.version": "2",
  zone: "a",
});

it("has the median and the p90 of each path, and in how many it is", () => {
  const rows = compareWithMany(slow, usual);
  const told = rows.map(({ operation, one, other, p90, in: times, onlyIn }) => {
    return [operation, one.pathNano, other.pathNano, p90.pathNano, times, onlyIn];
  });
  expect(told).toEqual([
    ["GET", 16, 20, 20, 5, undefined],
    ["lock", 4, 0, 0, 0, "one"],
    ["SELECT", 500, 14, 90, 5, undefined],
    ["cache", 0, 0, 4, 2, "other"],
  ]);
  expect(rows[2]?.pathNano).toBe(486);
});

it("takes the nearest rank", () => {
  expect(nearestRank([4, 1, 3, 2], 0.5)).toBe(2);
  expect(nearestRank([4, 1, 3, 2], 0.9)).toBe(4);
  expect(nearestRank([], 0.5)).toBe(0);
});

it("tells what spans say that the usual ones do not say, versions first, and no ids", () => {
  const select = compareWithMany(slow, usual).find(({ operation }) => operation === "SELECT")?.key ?? "";
  expect(saidOtherwise(slow, usual, new Set([select])).get(select)).toEqual([
    { key: "service.version", one: "2", other: "1", shared: 0 },
    { key: "tenant", one: "umbrella", other: "acme, umbrella", shared: 1 },
  ]);
});

it("tells nothing that is so in more than a fifth of the usual ones", () => {
  const on = (host: string) => side(request(10), { "host.name": host });
  const told = (hosts: readonly string[]) => {
    const others = hosts.map(on);
    const key = compareWithMany(on("a"), others).find(({ operation }) => operation === "SELECT")?.key ?? "";
    return saidOtherwise(on("a"), others, new Set([key])).get(key);
  };
  expect(told(["b", "b", "b", "b", "a"])).toMatchObject([{ key: "host.name", one: "a", shared: 1 }]);
  expect(told(["b", "b", "a", "b", "a"])).toEqual([]);
});

it("tells of two traces what each of them says", () => {
  const other = side(request(10, [], { tenant: "acme", retried: true }));
  const key = compareWithMany(slow, [other]).find(({ operation }) => operation === "SELECT")?.key ?? "";
  const said = saidOtherwise(slow, [other], new Set([key])).get(key) ?? [];
  expect(said.map(({ key, one, other }) => `${key} ${one} ${other}`)).toEqual([
    ...["service.version 2 –", "id x –", "retried – true", "tenant umbrella acme", "zone a –"],
  ]);
});
