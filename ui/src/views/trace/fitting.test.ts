import { expect, it } from "vitest";
import { findCriticalPath } from "./criticalPath";
import { firstWindow, outsideOf } from "./fitting";
import { madeTrace, type SpanWords } from "./made";
import { buildTree } from "./tree";

function measured(words: readonly SpanWords[]) {
  const tree = buildTree(madeTrace(words), "corrected");
  return { tree, path: findCriticalPath(tree) };
}

const root = { id: "r", from: 1000, to: 2000 };

it("is all of the time, usually", () => {
  const usual = measured([root, { id: "late", parent: "r", from: 1500, to: 4000 }]);
  expect(firstWindow(usual)).toEqual({ fromNano: 0, toNano: usual.tree.durationNano });
  expect(outsideOf(usual, firstWindow(usual))).toBe(0);
});

it("is the root's where one span would squeeze all others, and it is known how many are outside", () => {
  const absurd = measured([
    root,
    { id: "a", parent: "r", from: 1100, to: 1200 },
    { id: "x", parent: "r", from: 1300, to: 9e15 },
  ]);
  expect(firstWindow(absurd)).toEqual({ fromNano: 0, toNano: 1200 });
  expect(outsideOf(absurd, firstWindow(absurd))).toBe(1);
});

it("is all of the time without a root", () => {
  const without = measured([
    { id: "a", parent: "lost", from: 0, to: 10 },
    { id: "b", parent: "gone", from: 5000, to: 6000 },
  ]);
  expect(firstWindow(without).toNano).toBe(6000);
});
