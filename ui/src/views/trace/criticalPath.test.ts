import { describe, expect, it } from "vitest";
import { findCriticalPath, type CriticalPath } from "./criticalPath";
import { madeLargeTrace, madeTrace, type SpanWords } from "./made";
import { buildTree, nodeAt, type TraceTree } from "./tree";

function walk(spans: readonly SpanWords[]): { tree: TraceTree; path: CriticalPath; text: string } {
  const tree = buildTree(madeTrace(spans), "corrected");
  const path = findCriticalPath(tree);
  const text = path.pieces.map((p) => `${nodeAt(tree, p.node).key} ${p.startNano}-${p.endNano}`).join(", ");
  return { tree, path, text };
}
const pieces = (spans: readonly SpanWords[]) => walk(spans).text;
const span = (id: string, parent: string, from: number, to: number, more: Partial<SpanWords> = {}): SpanWords => ({
  id,
  parent,
  from,
  to,
  ...more,
});
const root = (to = 100) => span("root", "", 0, to);

describe("of children that were waited for", () => {
  it("is the root alone where it has none", () => expect(pieces([root()])).toBe("root 0-100"));

  it("goes through one after the other", () =>
    expect(pieces([root(), span("a", "root", 10, 40), span("b", "root", 50, 90)])).toBe(
      "root 0-10, a 10-40, root 40-50, b 50-90, root 90-100",
    ));

  it("takes of parallel ones the last that finished", () =>
    expect(pieces([root(), span("a", "root", 10, 40), span("b", "root", 10, 90)])).toBe(
      "root 0-10, b 10-90, root 90-100",
    ));

  it("does not go through one that had not finished when the next began", () =>
    expect(pieces([root(), span("a", "root", 0, 60), span("b", "root", 50, 100)])).toBe("root 0-50, b 50-100"));

  it("goes down all the way", () =>
    expect(pieces([root(), span("a", "root", 10, 90), span("b", "a", 20, 80), span("c", "b", 30, 70)])).toBe(
      "root 0-10, a 10-20, b 20-30, c 30-70, b 70-80, a 80-90, root 90-100",
    ));

  it("takes of those that finished together the longest", () =>
    expect(pieces([root(), span("a", "root", 50, 100), span("b", "root", 20, 100)])).toBe("root 0-20, b 20-100"));

  it("takes children that touch each other, in order", () =>
    expect(pieces([root(), span("a", "root", 0, 50), span("b", "root", 50, 100)])).toBe("a 0-50, b 50-100"));
});

describe("of children that run beyond their parent", () => {
  it("cuts one of another process at the parent's end", () =>
    expect(pieces([root(), span("a", "root", 20, 150, { resource: 1 })])).toBe("root 0-20, a 20-100"));

  it("cuts also what is below such a child", () =>
    expect(
      pieces([root(), span("a", "root", 20, 150, { resource: 1 }), span("b", "a", 30, 140, { resource: 1 })]),
    ).toBe("root 0-20, a 20-30, b 30-100"));

  it("cuts one that began before its parent", () =>
    expect(pieces([span("root", "", 0, 100), span("a", "root", -20, 40, { resource: 1 })])).toBe(
      "a 20-60, root 60-120",
    ));

  it("leaves out one of the same process that went on for long", () =>
    expect(pieces([root(), span("db", "root", 10, 95), span("audit", "root", 10, 500)])).toBe(
      "root 0-10, db 10-95, root 95-100",
    ));

  it("cuts one of the same process that was closed a little late", () =>
    expect(pieces([root(), span("a", "root", 10, 103)])).toBe("root 0-10, a 10-100"));

  it("leaves out a consumer that goes on", () =>
    expect(pieces([root(), span("a", "root", 10, 150, { resource: 1, kind: "consumer" })])).toBe("root 0-100"));

  it("leaves out what began when the parent was over", () =>
    expect(pieces([root(), span("a", "root", 100, 150), span("b", "root", 120, 130)])).toBe("root 0-100"));
});

describe("of wrong clocks", () => {
  const clock = { offset_nano: 0, error_nano: 3 };
  it("bears an overlap within the clocks' errors", () => {
    const [a, b] = [
      span("a", "root", 10, 52, { resource: 1, clock }),
      span("b", "root", 50, 90, { resource: 1, clock }),
    ];
    expect(pieces([{ ...root(), clock }, a, b])).toBe("root 0-10, a 10-50, b 50-90, root 90-100");
    expect(pieces([{ ...root(), clock }, { ...a, to: 58 }, b])).toBe("root 0-50, b 50-90, root 90-100");
  });

  it("takes a server that its client waited for as moved into it, and draws it where it was", () => {
    const client = span("client", "root", 10, 90, { kind: "client" });
    const server = span("server", "client", 200, 270, { kind: "server", resource: 1 });
    const below = span("below", "server", 210, 260, { resource: 1 });
    const { tree, path } = walk([root(), client, server, below]);
    const own = Object.fromEntries(tree.nodes.map((node) => [node.key, path.ownNano[node.index]]));
    expect(own).toEqual({ root: 20, client: 10, server: 20, below: 50 });
    expect(path.pieces.find((piece) => nodeAt(tree, piece.node).key === "below")).toMatchObject({ startNano: 210 });
  });

  it("uses corrected times where they are known", () => {
    const late = span("a", "root", 1010, 1050, { resource: 1, clock: { offset_nano: -1000, error_nano: 1 } });
    const corrected = (BigInt("1795221003123456789") + 10n).toString();
    expect(pieces([root(), { ...late, corrected_start_time_unix_nano: corrected }])).toBe(
      "root 0-10, a 10-50, root 50-100",
    );
  });
});

describe("of what is not a tree", () => {
  it("takes spans whose parent is not stored as the root's children", () =>
    expect(pieces([root(), span("a", "lost", 20, 60)])).toBe("root 0-20, a 20-60, root 60-100"));

  it("walks several roots, and says what no span covers", () => {
    const { path, text } = walk([span("one", "", 0, 40), span("two", "", 60, 100)]);
    expect(text).toBe("one 0-40, two 60-100");
    expect(path).toMatchObject({ totalNano: 100, uncoveredNano: 20, root: undefined });
  });

  it("covers all that several overlapping roots cover", () =>
    expect(walk([span("one", "", 0, 60), span("two", "", 50, 100)]).text).toBe("one 0-50, two 50-100"));

  it("walks a trace without a root", () => {
    const { path, text } = walk([span("a", "lost", 0, 40), span("b", "lost", 30, 100), span("c", "gone", 35, 50)]);
    expect(text).toBe("a 0-30, b 30-100");
    expect(path.uncoveredNano).toBe(0);
  });

  it("ends in spite of cycles", () => {
    const { path } = walk([
      span("a", "c", 0, 30),
      span("b", "a", 5, 25),
      span("c", "b", 10, 20),
      span("d", "d", 40, 50),
    ]);
    expect(path).toMatchObject({ totalNano: 50, uncoveredNano: 10 });
  });

  it("says nothing of nothing", () => {
    expect(walk([]).path).toMatchObject({ pieces: [], totalNano: 0, uncoveredNano: 0 });
    expect(walk([span("root", "", 5, 5), span("a", "root", 5, 5)]).path).toMatchObject({ pieces: [], totalNano: 0 });
  });

  it("passes by children without a duration", () =>
    expect(pieces([root(), span("mark", "root", 50, 50), span("a", "root", 20, 40)])).toBe(
      "root 0-20, a 20-40, root 40-100",
    ));
});

it("adds up to the root's duration, whatever the trace", () => {
  const tree = buildTree(madeLargeTrace(3000), "corrected");
  const path = findCriticalPath(tree);
  const sum = path.ownNano.reduce((total, own) => total + own, 0);
  expect(sum + path.uncoveredNano).toBe(1e9);
  path.pieces.reduce((before, piece) => {
    expect(piece.startNano).toBeGreaterThanOrEqual(before);
    return piece.endNano;
  }, 0);
});

it("bears a chain of a hundred thousand", () => {
  const chain = Array.from({ length: 100_000 }, (_, at) => span(`${at}`, at ? `${at - 1}` : "", at, 200_000 - at));
  expect(
    findCriticalPath(buildTree({ ...madeTrace([]), spans: madeTrace(chain.slice(0, 0)).spans }, "sent")).pieces,
  ).toEqual([]);
  const tree = buildTree(largeOf(chain), "sent");
  expect(findCriticalPath(tree).pieces).toHaveLength(199_999);
});

function largeOf(words: readonly SpanWords[]) {
  const answer = madeTrace([]);
  return { ...answer, spans: words.map((word) => madeTrace([word]).spans[0]!) };
}
