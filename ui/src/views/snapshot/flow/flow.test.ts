import { expect, it } from "vitest";
import type { SnapshotViewCallsAnswer, SnapshotViewRow } from "@/api/generated/answers";
import { lineText, shortName } from "@/parts/code_names";
import { lookOf, UNNAMED_LOOK } from "./looks";
import { exactLength, lengthText, offsetLabel, offsetText } from "./offsets";
import {
  areaHeight,
  clampTop,
  lastTop,
  MOST_PIXELS,
  positionOf,
  revealing,
  rowsInSight,
  topAfter,
  topOf,
} from "./row_scroll";
import { mnemonicOf, pageKey, pageOf, PAGE_ROWS, rowClass, rowIn, wantedPages, type Page } from "./rows";
import { barAt, breakAt, drawnPieces, forEachBar, type Scene } from "./scene";
import { joined, tileOf } from "./tile";
import { coarsest, tileKey } from "./tiles";

it("shortens names to what tells them apart", () => {
  expect(shortName("std::vector<int, std::allocator<int> >::push_back(int const&)")).toBe("std::vector::push_back");
  expect(shortName("void shop::(anonymous namespace)::walk<3>(std::map<int, int>&) const")).toBe("shop::walk");
  expect(shortName("[gap: overflow]")).toBe("[gap: overflow]");
  expect(shortName("libc.so.6+0x1234")).toBe("libc.so.6+0x1234");
  expect(shortName("operator<<(std::ostream&, Id const&)")).toBe("operator<<");
  expect(shortName("main")).toBe("main");
});

it("gives a function the same colour everywhere, and none to what is no function", () => {
  expect(lookOf("main")).toBe(lookOf("main"));
  expect(lookOf("[libc.so.6]")).toBe(UNNAMED_LOOK);
  expect(new Set(["a", "b", "c", "d", "e", "f"].map(lookOf)).size).toBeGreaterThan(3);
});

it("says places and offsets", () => {
  expect(lineText({ file: "/src/shop/shelves.cc", line: 88 })).toBe("shelves.cc:88");
  expect(lineText(undefined)).toBe("");
  expect(lengthText("ns", 1500)).toBe("1.5 µs");
  expect(lengthText("ticks", 1500)).toBe("1,500 ticks");
  expect(exactLength("ns", 27_312_405)).toBe("27.3 ms (27,312,405 ns)");
  expect(offsetLabel("rows")(1200, 100, 5000)).toBe("row 1,200");
  expect(offsetText("ns", 1_234_567, 9e6)).toBe("1.234\u2009567 ms");
});

const small = { rows: 100, rowHeight: 20, height: 400 };
const large = { rows: 10_000_000, rowHeight: 20, height: 400 };

it("scrolls short lists as browsers do", () => {
  expect(areaHeight(small)).toBe(2000);
  expect(topOf(small, 317.5)).toBe(317.5);
  expect(topAfter(small, 0, 0, 1600)).toBe(1600);
});

it("maps the area of a long list exactly at its ends, and keeps order", () => {
  expect(areaHeight(large)).toBe(MOST_PIXELS);
  expect(topOf(large, 0)).toBe(0);
  expect(topOf(large, MOST_PIXELS - 400)).toBe(lastTop(large));
  expect(positionOf(large, lastTop(large))).toBe(MOST_PIXELS - 400);
  expect(rowsInSight(large, lastTop(large))).toEqual({ first: 9_999_980, end: 10_000_000 });
  for (let top = 0; top < lastTop(large); top += 7_777_777)
    expect(topOf(large, positionOf(large, top))).toBeCloseTo(top, 3);
});

it("moves a long list by pixels where one scrolls, in proportion where one drags the bar", () => {
  expect(topAfter(large, 5_000_000, 200_000, 200_030)).toBe(5_000_030);
  expect(topAfter(large, 5_000_000, 200_000, 4_000_000)).toBeCloseTo(100_001_900, -4);
  expect(topAfter(large, 5_000_000, 200_000, 0)).toBe(0);
  expect(clampTop(large, 1e12)).toBe(lastTop(large));
});

it("moves as little as needed for a row to be in sight, and puts a far one in the middle", () => {
  expect(revealing(large, 1000, 60)).toBe(1000);
  expect(revealing(large, 1000, 70)).toBe(70 * 20 + 20 + 40 - 400);
  expect(revealing(large, 1000, 49)).toBe(940);
  expect(revealing(large, 1000, 5_000_000)).toBe(5_000_000 * 20 - 190);
  expect(revealing(large, 1000, 0)).toBe(0);
});

it("wants the pages in sight, and those beside them", () => {
  expect(wantedPages(0, 40, 10_000)).toEqual(["0"]);
  expect(wantedPages(200, 240, 10_000)).toEqual(["0", "1"]);
  expect(wantedPages(PAGE_ROWS * 7 - 10, PAGE_ROWS * 7 + 30, 1e7)).toEqual(["6", "7"]);
  expect(wantedPages(0, 0, 0)).toEqual([]);
});

function page(firstRow: number, rows: readonly Partial<SnapshotViewRow>[]): Page {
  const all = rows.map((row, at) => ({
    row: firstRow + at,
    offset: 0,
    kind: "instruction" as const,
    text: "nop",
    ...row,
  }));
  const functions = [{ name: "main" }, { name: "walk" }];
  return pageOf({ thread: 0, unit: "ns", first_row: firstRow, total_rows: 1e6, functions, rows: all });
}

it("groups rows by line, function and time, over the edges of pages, too", () => {
  const last = Array.from({ length: PAGE_ROWS }, () => ({ function: 0, file: "a.cc", line: 7, offset: 5 }));
  const pages = new Map([
    ["0", page(0, last)],
    [
      "1",
      page(PAGE_ROWS, [
        { function: 0, file: "a.cc", line: 7, offset: 5 },
        { function: 1, file: "a.cc", line: 7, offset: 6 },
      ]),
    ],
  ]);
  const at = (row: number) => rowIn((key) => pages.get(key), row);
  expect(at(0)).toMatchObject({ newLine: true, newFunction: true, newTime: true });
  expect(at(PAGE_ROWS)).toMatchObject({ newLine: false, newFunction: false, newTime: false });
  expect(at(PAGE_ROWS + 1)).toMatchObject({ newLine: true, newFunction: true, newTime: true });
  expect(at(PAGE_ROWS + 2)).toBeUndefined();
  expect(pageKey(PAGE_ROWS)).toBe("1");
});

it("reads instructions apart", () => {
  expect(mnemonicOf("lock cmpxchg qword ptr [rdi], rsi")).toEqual({
    mnemonic: "lock cmpxchg",
    operands: "qword ptr [rdi], rsi",
  });
  expect(mnemonicOf("ret")).toEqual({ mnemonic: "ret", operands: "" });
  const row = (text: string) => rowClass({ row: 1, offset: 0, kind: "instruction", text });
  expect([row("call 0x1"), row("ret"), row("callx"), row("mov a, b")]).toEqual([
    "flow-row-call",
    "flow-row-return",
    "",
    "",
  ]);
  expect(rowClass({ row: 1, offset: 0, kind: "gap", text: "call" })).toBe("flow-row-gap");
});

const call = (start: number, end: number, depth: number, fn = 0) => ({
  ...{ start, end, depth, function: fn, first_row: start, last_row: end },
  ...{ instructions: end - start, self_instructions: 0 },
});
const ANSWER: SnapshotViewCallsAnswer = {
  ...{ thread: 0, unit: "ns", from: 0, to: 1024, columns: 1024, first_depth: 0, depths: 32, left_out_depths: 0 },
  functions: [{ name: "main" }, { name: "walk(int)" }],
  calls: [call(0, 1000, 0), call(10, 300, 1, 1), call(400, 400, 1, 1), call(500, 900, 1)],
  merged: [{ start: 310, end: 390, depth: 1, calls: 12 }],
  breaks: [
    { start: 940, end: 960, kind: "pause", count: 1 },
    { start: 950, end: 970, kind: "gap", reason: "overflow", count: 2 },
  ],
};
const extent = { start: 0, end: 1000 };
const key = tileKey({ level: coarsest(extent), index: 0, band: 0 });
const scene = (begin = 0, duration = 1000): Scene => ({
  ...{ extent, view: { begin, duration }, width: 1000 },
  tileAt: (wanted) => (wanted === key ? tileOf(ANSWER) : undefined),
});

it("has bars of one depth from left to right, put together or not", () => {
  const seen: string[] = [];
  forEachBar(drawnPieces(scene(), 0), 1, scene().view, (bar) => seen.push(`${bar.start} ${bar.calls} ${bar.label}`));
  expect(seen).toEqual(["10 1 walk", "310 12 ", "400 1 walk", "500 1 main"]);
  const some: number[] = [];
  forEachBar(drawnPieces(scene(300, 100), 0), 1, scene(300, 100).view, (bar) => some.push(bar.start));
  expect(some).toEqual([310]);
});

it("finds what is below the pointer, also what is as narrow as nothing", () => {
  expect(barAt(scene(), 1, 20)?.start).toBe(10);
  expect(barAt(scene(), 1, 401)?.start).toBe(400);
  expect(barAt(scene(), 1, 350)?.calls).toBe(12);
  expect(barAt(scene(), 1, 450)).toBeUndefined();
  expect(barAt(scene(), 7, 450)).toBeUndefined();
  expect(breakAt(scene(), 955)?.kind).toBe("gap");
  expect(breakAt(scene(), 943)?.kind).toBe("pause");
  expect(breakAt(scene(), 700)).toBeUndefined();
});

it("takes the depths that had no room from a second answer", () => {
  const first = tileOf({ ...ANSWER, depths: 2, left_out_depths: 3 });
  expect(first.leftOutFrom).toBe(2);
  const both = joined(first, tileOf({ ...ANSWER, first_depth: 2, calls: [call(20, 30, 2)], merged: [] }));
  expect([...both.byDepth.keys()].sort()).toEqual([0, 1, 2]);
  expect(both.leftOutFrom).toBe(Infinity);
});
