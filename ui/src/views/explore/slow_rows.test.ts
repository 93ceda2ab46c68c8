import { expect, test } from "vitest";
import type { SlowRow } from "@/api/generated/answers";
import { oneOfEachTrace } from "./slow_rows";

const row = (trace_id: string, span_id: string) => ({ trace_id, span_id }) as SlowRow;

test("a request is listed once, by its longest span", () => {
  const rows = [row("a", "1"), row("a", "2"), row("b", "3"), row("a", "4"), row("c", "5"), row("b", "6")];
  expect(oneOfEachTrace(rows).map(({ span_id }) => span_id)).toEqual(["1", "3", "5"]);
});
