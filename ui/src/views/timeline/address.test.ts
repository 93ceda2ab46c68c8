import { expect, it } from "vitest";
import { addressOf } from "@/api/ask";
import { formatFolded, moreItems, parseFolded, perfettoAddress, questionOf, toggled } from "./address";

it("asks for a trace's timeline, or a capture's", () => {
  const { path, params } = questionOf({ view: "timeline", id: "ab", query: { all: "1", at: "0~1" } });
  expect(addressOf(path ?? "", params)).toBe("/api/v1/traces/ab/timeline?all=true");
  expect(questionOf({ view: "capture", id: "cd", query: {} }).path).toBe("captures/cd/timeline");
  expect(perfettoAddress({ view: "capture", id: "cd", query: {} })).toBe("/api/v1/captures/cd/perfetto");
});

it("folds and unfolds", () => {
  const folded = toggled(toggled(parseFolded(undefined), "7@b"), "7@a");
  expect(formatFolded(folded)).toBe("7@a,7@b");
  expect(formatFolded(toggled(parseFolded("7@a,7@b"), "7@a"))).toBe("7@b");
});

it("asks for more, up to what the server gives", () => {
  expect(moreItems(undefined)).toBe("1000000");
  expect(moreItems("2000")).toBe("20000");
});
