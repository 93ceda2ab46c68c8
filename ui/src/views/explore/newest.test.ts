import { expect, it } from "vitest";
import { readInstant } from "@/time/rfc3339";
import { newestSpan, rangeEndingWith, type AskHeatmap } from "./newest";

const NOW = 1795269600000000000n;
const MINUTE = 60_000_000_000n;

/** A server that has spans at these instants. */
function serverWith(instants: readonly bigint[]): { ask: AskHeatmap; asked: () => number } {
  let asked = 0;
  const ask: AskHeatmap = async ({ from, to, columns }) => {
    ++asked;
    const [begin, end] = [readInstant(String(from)) ?? 0n, readInstant(String(to)) ?? 0n];
    const step = (end - begin) / BigInt(columns ?? 1) + 1n;
    const cells = instants.filter((at) => at >= begin && at < end).map((at) => [Number((at - begin) / step), 0, 1, 0]);
    return {
      ...{ start_time_unix_nano: begin.toString(), step_nano: Number(step), columns: Number(columns) },
      ...{ row_bounds_nano: [0, 1e9], cells: cells as [number, number, number, number][], spans: cells.length },
      ...{ errors: 0, max_nano: 1e9, errors_exact: true },
    };
  };
  return { ask, asked: () => asked };
}

it.each([2n, 60n, 1440n * 30n, 1440n * 3000n])("finds a span of %d minutes ago", async (minutes) => {
  const at = NOW - minutes * MINUTE;
  const { ask, asked } = serverWith([at - 500n * MINUTE, at]);
  const found = await newestSpan(ask, NOW);
  expect(found && found.from <= at && at < found.to && found.to - found.from <= 6n * MINUTE).toBe(true);
  expect(asked()).toBeLessThan(5);
});

it("finds one whose clock is ahead, and none where there is none", async () => {
  const at = NOW + 10n * MINUTE;
  expect((await newestSpan(serverWith([at]).ask, NOW))?.to).toBeGreaterThan(at);
  expect(await newestSpan(serverWith([]).ask, NOW)).toBeUndefined();
});

it("shows it with an hour before it, or as much as was shown", () => {
  const found = { from: NOW - MINUTE, to: NOW };
  expect(rangeEndingWith(found, 900e9)).toEqual({ from: NOW - 60n * MINUTE, to: NOW });
  expect(rangeEndingWith(found, 7200e9)).toEqual({ from: NOW - 120n * MINUTE, to: NOW });
});
