import { expect, it } from "vitest";
import type { SlowRow } from "@/api/generated/answers";
import { requestText, withoutStepped } from "./slow_rows";

it.each([
  [1.5e9, 2e9, 812, "of 2 s, 812 spans"],
  [2e9, 2e9, 1, "1 span"],
  [2e9, 2e9 + 7, 3, "3 spans"],
  [2e9, 0, 12345, "12,345 spans"],
])("a span of %d in a root of %d", (duration_nano, root_duration_nano, spans, text) => {
  expect(requestText({ duration_nano, root_duration_nano, spans } as SlowRow)).toBe(text);
});

it("leaves out what single steps made slow, where that is asked", () => {
  const all = [{ stepped: true }, { stepped: false }, { stepped: true }] as SlowRow[];
  expect(withoutStepped(all, false)).toEqual({ rows: all, hidden: 0 });
  expect(withoutStepped(all, true)).toEqual({ rows: [all[1]], hidden: 2 });
  expect(withoutStepped(undefined, true)).toEqual({ rows: undefined, hidden: 0 });
});
