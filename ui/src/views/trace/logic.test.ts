import { describe, expect, it } from "vitest";
import { compareTraces, ordered, pathOf } from "./compare";
import { contributions, percent } from "./contributions";
import { findCriticalPath } from "./criticalPath";
import { madeTrace, type SpanWords } from "./made";
import { flip, NOTHING_FOLDED, placeOfNode, reveal, rowKey, visibleRows, type Folding } from "./rows";
import { searchable, stepThrough, stepThroughHits } from "./search";
import { around, lengthOf, panned, ticksOf, within, zoomed } from "./timeWindow";
import { buildTree } from "./tree";
import { valueText } from "./values";
import { readWords, writeWords, type Words } from "./words";

const build = (words: readonly SpanWords[]) => buildTree(madeTrace(words), "corrected");
const repeated = (count: number): readonly SpanWords[] => [
  { id: "r", from: 0, to: 1000 },
  ...Array.from({ length: count }, (_, at) => ({
    id: `q${at}`,
    parent: "r",
    from: at * 10,
    to: at * 10 + 5,
    operation: "SELECT",
  })),
  { id: "below", parent: "q2", from: 21, to: 22 },
  { id: "z", parent: "r", from: 900, to: 950 },
];

describe("rows", () => {
  const tree = build(repeated(6));
  const keys = (folding: Folding) =>
    visibleRows(tree, folding).map((row) => `${"-".repeat(row.depth)}${rowKey(tree, row)}`);

  it("fold what repeats, and open it below its row", () => {
    expect(keys(NOTHING_FOLDED)).toEqual(["r", "-xq0", "-z"]);
    const open = ["r", "-xq0", "--q0", "--q1", "--q2", "---below", "--q3", "--q4", "--q5", "-z"];
    expect(keys(flip(NOTHING_FOLDED, "xq0"))).toEqual(open);
    expect(keys({ ...NOTHING_FOLDED, runsOpen: true })).toEqual(open);
    expect(keys(flip(flip(NOTHING_FOLDED, "xq0"), "xq0"))).toEqual(["r", "-xq0", "-z"]);
  });

  it("fold one, and all of a level", () => {
    expect(keys(flip(NOTHING_FOLDED, "r"))).toEqual(["r"]);
    expect(keys({ ...NOTHING_FOLDED, depth: 0 })).toEqual(["r"]);
    expect(keys(flip({ ...NOTHING_FOLDED, depth: 0 }, "r"))).toEqual(["r", "-xq0", "-z"]);
  });

  it("open what hides a span, and nothing else", () => {
    const below = tree.byKey.get("below") ?? -1;
    const folding = reveal(tree, flip(NOTHING_FOLDED, "r"), below);
    expect(keys(folding)).toContain("---below");
    expect(reveal(tree, folding, below)).toEqual(folding);
    expect(keys(reveal(tree, NOTHING_FOLDED, tree.byKey.get("z") ?? -1))).toEqual(["r", "-xq0", "-z"]);
  });

  it("know where a hidden span would be", () => {
    const rows = visibleRows(tree, NOTHING_FOLDED);
    expect(placeOfNode(rows, tree.byKey.get("below") ?? -1)).toBe(1);
    expect(placeOfNode(rows, tree.byKey.get("z") ?? -1)).toBe(2);
  });
});

describe("search", () => {
  const answer = madeTrace([
    { id: "a", from: 0, to: 9, operation: "GET /cart", attributes: { "user.id": 9007199254740993n, tags: ["Gold"] } },
    { id: "b", parent: "a", from: 1, to: 2, events: [{ name: "retry", time_unix_nano: "1", attributes: { n: 2 } }] },
    { id: "c", parent: "lost", from: 3, to: 4, status: "error", status_message: "Refused" },
  ]);
  const tree = buildTree(
    { ...answer, resources: [{ service: "shop", attributes: { "host.name": "shop-1" } }] },
    "sent",
  );
  const find = (text: string) =>
    searchable(tree, { ...answer, resources: [{ service: "shop", attributes: { "host.name": "shop-1" } }] })
      .find(text)
      .nodes.map((index) => tree.nodes[index]?.key);

  it.each([
    ["cart", ["a"]],
    ["9007199254740993", ["a"]],
    ["user.id=9007199254740993", ["a"]],
    ["gold", ["a"]],
    ["retry", ["b"]],
    ["n=2", ["b"]],
    ["refused ERROR", ["c"]],
    ["shop-1", ["a", "b", "c"]],
    ["shop cart", ["a"]],
    ["lost", ["?lost"]],
    ["nowhere", []],
    ["  ", []],
    ['"GET cart"', []],
    ['"get /cart"', ["a"]],
  ])("finds %s", (text, keys) => expect(find(text)).toEqual(keys));

  it("has names before all else, and phrases before words that stand apart", () => {
    const calls = [4, 3, 30].map((nth) => ({ id: `n${nth}`, from: nth, to: 99, operation: `rpc Call ${nth}` }));
    const other = { id: "i", from: 50, to: 60, operation: "rpc Call", attributes: { i: 3 } };
    const apart = { id: "x", from: 60, to: 61, operation: "3 Call rpc" };
    const made = madeTrace([...calls, other, apart].map((span) => ({ ...span, parent: "" })));
    const searched = searchable(buildTree(made, "sent"), made);
    const hits = searched.find("rpc call 3");
    const keyOf = (node: number) => buildTree(made, "sent").nodes[node]?.key ?? "";
    expect(hits.nodes.map(keyOf)).toEqual(["n3", "n30", "x", "i"]);
    expect(hits.inNames).toBe(3);
    expect(hits.nodes.map((node) => searched.whereFound(node, "rpc call 3"))).toEqual([
      ...["its name", "its name", "its name", "its name, attribute i"],
    ]);
    expect(searched.whereFound(hits.nodes[3] ?? -1, "i=3")).toBe("attribute i");
    const [first = -1, second = -1, , last = -1] = hits.nodes;
    expect(stepThroughHits(hits, -1, true)).toBe(first);
    expect(stepThroughHits(hits, first, true)).toBe(second);
    expect(stepThroughHits(hits, last, true)).toBe(first);
    expect(stepThroughHits(hits, first, false)).toBe(last);
    expect(stepThroughHits({ nodes: [], inNames: 0 }, first, true)).toBeUndefined();
  });

  it("steps round the end", () => {
    expect(stepThrough([2, 5, 9], 5, true)).toBe(9);
    expect(stepThrough([2, 5, 9], 9, true)).toBe(2);
    expect(stepThrough([2, 5, 9], -1, true)).toBe(2);
    expect(stepThrough([2, 5, 9], 2, false)).toBe(9);
    expect(stepThrough([2, 5, 9], 7, false)).toBe(5);
    expect(stepThrough([], 7, false)).toBeUndefined();
  });
});

describe("a window of time", () => {
  it("keeps what is under the pointer where it is", () => {
    expect(zoomed({ fromNano: 0, toNano: 1000 }, 0.5, 0.25, 1000)).toEqual({ fromNano: 125, toNano: 625 });
    expect(zoomed({ fromNano: 100, toNano: 200 }, 100, 0.5, 1000)).toEqual({ fromNano: 0, toNano: 1000 });
    expect(lengthOf(zoomed({ fromNano: 100, toNano: 130 }, 0.01, 0.5, 1000))).toBe(20);
  });
  it("stays within the trace", () => {
    expect(panned({ fromNano: 800, toNano: 1000 }, 0.5, 1000)).toEqual({ fromNano: 800, toNano: 1000 });
    expect(panned({ fromNano: 200, toNano: 400 }, -0.5, 1000)).toEqual({ fromNano: 100, toNano: 300 });
    expect(within({ fromNano: 0, toNano: 10 }, 0)).toEqual({ fromNano: 0, toNano: 20 });
    expect(around(500, 600, 1000)).toEqual({ fromNano: 480, toNano: 620 });
  });
  it("has round ticks, told apart", () => {
    const labels = (fromNano: number, toNano: number) => ticksOf({ fromNano, toNano }, 4).map((tick) => tick.label);
    expect(labels(0, 1e9)).toEqual(["0", "0.5 s", "1.0 s"]);
    expect(labels(0, 400e6)).toEqual(["0", "100 ms", "200 ms", "300 ms", "400 ms"]);
    expect(labels(1e9 + 100, 1e9 + 140)).toEqual([
      "1.00000010 s",
      "1.00000011 s",
      "1.00000012 s",
      "1.00000013 s",
      "1.00000014 s",
    ]);
    expect(labels(0, 20)).toEqual(["0", "5 ns", "10 ns", "15 ns", "20 ns"]);
  });
});

it("brings back what a reader chose from the address", () => {
  const words: Words = {
    span: "00f067aa0ba902b7~2",
    window: { fromNano: 5, toNano: 500 },
    clock: "sent",
    folding: { depth: 2, runsOpen: true, flipped: new Set(["a", "xb"]) },
    find: "user.id=7",
    follow: true,
  };
  const texts = Object.entries(writeWords(words)).filter((pair): pair is [string, string] => pair[1] !== undefined);
  expect(readWords(Object.fromEntries(texts))).toEqual(words);
  expect(Object.values(writeWords(readWords({}))).filter(Boolean)).toEqual([]);
  expect(readWords({ at: "9-3", depth: "x" })).toEqual(readWords({}));
});

it("adds up what each operation adds to the path", () => {
  const tree = build([
    { id: "r", from: 0, to: 100 },
    { id: "a", parent: "r", from: 10, to: 30, operation: "SELECT" },
    { id: "b", parent: "r", from: 40, to: 90, operation: "SELECT" },
    { id: "c", parent: "r", from: 41, to: 42 },
  ]);
  expect(contributions(tree, findCriticalPath(tree))).toEqual([
    { service: "shop", operation: "SELECT", ownNano: 70, share: 0.7, onPath: 2, spans: 2, greatest: 2 },
    { service: "shop", operation: "r", ownNano: 30, share: 0.3, onPath: 1, spans: 1, greatest: 0 },
  ]);
  expect([0.7, 0.0421, 0.00004, 0, 0.05].map(percent)).toEqual(["70 %", "4.2 %", "< 0.1 %", "0 %", "5 %"]);
});

it("shows values exactly", () => {
  expect(valueText(9007199254740993n)).toBe("9007199254740993");
  expect(valueText({ a: [1n << 60n, "x", null, true] })).toBe('{"a":[1152921504606846976,"x",null,true]}');
  expect([valueText(null), valueText(1.5), valueText("1")]).toEqual(["null", "1.5", "1"]);
});

describe("two traces", () => {
  const side = (words: readonly SpanWords[]) => {
    const tree = build(words);
    return { tree, path: findCriticalPath(tree) };
  };
  const slow = side([
    { id: "r", from: 0, to: 200, operation: "GET" },
    { id: "a", parent: "r", from: 10, to: 110, operation: "SELECT" },
    { id: "b", parent: "r", from: 110, to: 190, operation: "SELECT" },
    { id: "c", parent: "b", from: 120, to: 130, operation: "lock" },
  ]);
  const usual = side([
    { id: "u", from: 0, to: 60, operation: "GET" },
    { id: "v", parent: "u", from: 10, to: 40, operation: "SELECT" },
    { id: "w", parent: "u", from: 40, to: 50, operation: "cache" },
  ]);
  const rows = compareTraces(slow, usual);

  it("are compared path by path", () => {
    expect(
      rows.map((row) => [row.operation, row.depth, row.one.spans, row.other.spans, row.selfNano, row.onlyIn]),
    ).toEqual([
      ["GET", 0, 1, 1, 0, undefined],
      ["SELECT", 1, 2, 1, 140, undefined],
      ["lock", 2, 1, 0, 10, "one"],
      ["cache", 1, 0, 1, -10, "other"],
    ]);
    expect(pathOf(rows[2]!)).toEqual(["shop GET", "shop SELECT", "shop lock"]);
  });

  it("differ on their paths by as much as they differ", () =>
    expect(rows.reduce((sum, row) => sum + row.pathNano, 0)).toBe(200 - 60));

  it("are told with the greatest difference first", () => {
    expect(ordered(rows, "self").map((row) => row.operation)).toEqual(["SELECT", "lock", "cache", "GET"]);
    expect(ordered(rows, "tree")).toEqual(rows);
  });
});
