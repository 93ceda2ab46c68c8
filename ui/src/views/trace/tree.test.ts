import { expect, it } from "vitest";
import type { TraceAnswer } from "@/api/generated/answers";
import { findCriticalPath } from "./criticalPath";
import { MADE_ORIGIN_NANO, madeLargeTrace, madeTrace, type SpanWords } from "./made";
import { NOTHING_FOLDED, visibleRows } from "./rows";
import { buildTree, nodeAt, type TraceTree } from "./tree";

const shape = (tree: TraceTree) => tree.nodes.map((node) => `${"-".repeat(node.depth)}${node.key}`);
const build = (words: readonly SpanWords[]) => buildTree(madeTrace(words), "corrected");

it("puts parents before children, and siblings by their start", () => {
  const tree = build([
    { id: "r", from: 0, to: 100 },
    { id: "late", parent: "r", from: 50, to: 60 },
    { id: "early", parent: "r", from: 10, to: 20 },
    { id: "below", parent: "early", from: 12, to: 13 },
  ]);
  expect(shape(tree)).toEqual(["r", "-early", "--below", "-late"]);
  expect(tree.nodes.map((node) => node.after)).toEqual([4, 3, 3, 4]);
  expect(tree.originNano).toBe(MADE_ORIGIN_NANO);
});

it("gives parents that are not stored a place of their own", () => {
  const tree = build([
    { id: "r", from: 0, to: 100 },
    { id: "a", parent: "lost", from: 30, to: 40 },
    { id: "b", parent: "lost", from: 20, to: 35 },
  ]);
  expect(shape(tree)).toEqual(["r", "?lost", "-b", "-a"]);
  expect(nodeAt(tree, 1)).toMatchObject({ span: undefined, spanId: "lost", startNano: 20, endNano: 40 });
});

it("has each span once, however wrong the parents are", () => {
  const tree = build([
    { id: "a", parent: "b", from: 0, to: 1 },
    { id: "b", parent: "a", from: 1, to: 2 },
    { id: "self", parent: "self", from: 2, to: 3 },
    { id: "tail", parent: "b", from: 3, to: 4 },
  ]);
  expect(shape(tree)).toEqual(["a", "-b", "--tail", "self"]);
  expect(tree.nodes.map((node) => node.cutFromCycle)).toEqual([true, false, false, true]);
});

it("tells two spans with one id apart, and gives a child to the one in its process", () => {
  const tree = build([
    { id: "x", from: 0, to: 100, kind: "client", conflicting: true },
    { id: "x", from: 10, to: 90, kind: "server", resource: 1, conflicting: true },
    { id: "child", parent: "x", from: 20, to: 30, resource: 1 },
  ]);
  expect(shape(tree)).toEqual(["x", "x~2", "-child"]);
});

it("takes the time in which no child lasted as a span's own", () => {
  const tree = build([
    { id: "r", from: 0, to: 100 },
    { id: "a", parent: "r", from: 10, to: 50 },
    { id: "b", parent: "r", from: 40, to: 60 },
    { id: "c", parent: "r", from: 90, to: 300 },
  ]);
  expect([...tree.selfNano]).toEqual([40, 40, 20, 210]);
});

it("finds what repeats", () => {
  const queries = Array.from({ length: 6 }, (_, at) => ({
    id: `q${at}`,
    parent: "r",
    from: at * 10,
    to: at * 10 + 5,
    operation: "SELECT",
  }));
  const tree = build([{ id: "r", from: 0, to: 100 }, ...queries, { id: "z", parent: "r", from: 90, to: 95 }]);
  expect([...tree.runs]).toEqual([[1, [1, 2, 3, 4, 5, 6]]]);
});

it("is exact where no floating point number is, in both clocks", () => {
  const answer = madeTrace([
    { id: "r", from: 0, to: 100 },
    { id: "a", parent: "r", from: 1001, to: 1002, clock: { offset_nano: -998, error_nano: 5 } },
  ]);
  const corrected = (MADE_ORIGIN_NANO + 3n).toString();
  const spans = answer.spans.map((span) =>
    span.clock ? { ...span, corrected_start_time_unix_nano: corrected } : span,
  );
  expect(nodeAt(buildTree({ ...answer, spans }, "corrected"), 1).startNano).toBe(3);
  expect(nodeAt(buildTree({ ...answer, spans }, "sent"), 1).startNano).toBe(1001);
});

/** The figure is for people (a quiet machine takes 200 to 260 ms); what is held to is how it grows. */
it("lays out a hundred thousand spans, in about ten times what a tenth of them take", { timeout: 120_000 }, () => {
  const [few, many] = [best(madeLargeTrace(10_000)), best(madeLargeTrace(100_000))];
  console.log(`100,000 spans, ms of a processor: ${JSON.stringify(many)}; 10,000: ${few.total}`);
  // n squared is a hundred times as much; a collection of garbage in one of them is some milliseconds.
  expect(many.total).toBeLessThan(40 * few.total + 200);
});

function best(answer: TraceAnswer) {
  const tries = Array.from({ length: 3 }, () => timed(answer));
  return tries.reduce((one, other) => (one.total < other.total ? one : other));
}

function processorMilliseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function timed(answer: TraceAnswer) {
  const at = [processorMilliseconds()];
  const tree = buildTree(answer, "corrected");
  at.push(processorMilliseconds());
  const found = findCriticalPath(tree);
  at.push(processorMilliseconds());
  const rows = visibleRows(tree, NOTHING_FOLDED);
  at.push(processorMilliseconds());
  expect(rows.length).toBeGreaterThan(answer.spans.length / 2);
  expect(found.totalNano).toBe(1e9);
  const [tree_, path, listed] = at.slice(1).map((now, step) => Math.round(now - (at[step] ?? 0)));
  return { tree: tree_, path, rows: listed, total: Math.round((at[3] ?? 0) - (at[0] ?? 0)) };
}
