import { expect, it } from "vitest";
import type { SlowRow } from "@/api/generated/answers";
import { requestText, wantsMore } from "./slow_rows";

it("goes on until there are enough different requests, but not for ever", () => {
  expect(wantsMore(1, 0)).toBe(true);
  expect(wantsMore(49, 7)).toBe(true);
  expect(wantsMore(50, 0)).toBe(false);
  expect(wantsMore(1, 8)).toBe(false);
});

it.each([
  [1.5e9, 2e9, 812, "of 2 s, 812 spans"],
  [2e9, 2e9, 1, "1 span"],
  [2e9, 2e9 + 7, 3, "3 spans"],
  [2e9, 0, 12345, "12,345 spans"],
])("a span of %d in a root of %d", (duration_nano, root_duration_nano, spans, text) => {
  expect(requestText({ duration_nano, root_duration_nano, spans } as SlowRow)).toBe(text);
});
