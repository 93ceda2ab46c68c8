import { describe, expect, it } from "vitest";
import { readInstant } from "@/time/rfc3339";
import type { OperationRow, SlowRow } from "@/api/generated/answers";
import { baselines, boundsAround, findUsual, medianOf, mostUsual, placesWithin, type Subject } from "./usual";

const HOUR = 3600n * 1_000_000_000n;
const START = 1795221003123456789n;
const subject: Subject = {
  ...{ traceId: "self", service: "shop", operation: "pay", kind: "server", root: true, startUnixNano: START },
};
const row = (trace_id: string, duration_nano: number, more: Partial<SlowRow> = {}): SlowRow => ({
  ...{ trace_id, span_id: "s", service: "shop", operation: "pay", start_time_unix_nano: "0", duration_nano },
  ...{ root_duration_nano: duration_nano, complete: true, error: false, spans: 1, captures: 0, snapshots: 0 },
  ...{ stepped: false, ...more },
});
const operation = (kind: OperationRow["kind"], p50_nano: number, spans = 100): OperationRow => ({
  ...{ service: "shop", service_namespace: "", operation: "pay", kind, spans, errors: 0, p50_nano },
  ...{ p90_nano: 0, p95_nano: 0, p99_nano: 0, p999_nano: 0, max_nano: 0 },
});
const ids = (rows: readonly SlowRow[]) => rows.map(({ trace_id }) => trace_id);

describe("usual ones", () => {
  it("are whole, of the same root, without errors or steps, each once, the nearest to the median first", () => {
    const rows = [
      ...[row("far", 80), row("self", 100), row("near", 99), row("near", 97), row("above", 104)],
      ...[row("error", 100, { error: true }), row("cut", 100, { complete: false })],
      ...[row("stepped", 100, { stepped: true }), row("inner", 100, { root_duration_nano: 400 })],
    ];
    expect(ids(mostUsual(rows, subject, 100))).toEqual(["near", "above", "far"]);
    expect(ids(mostUsual(rows, { ...subject, root: false }, 100))).toContain("inner");
  });

  it("are asked for just below the median, and just below a little above it", () => {
    expect(boundsAround(1000)).toEqual([
      { min_duration: "600ns", max_duration: "1000ns" },
      { min_duration: "600ns", max_duration: "1100ns" },
    ]);
  });

  it("have a median of the same kind, of more than a few spans", () => {
    expect(medianOf([operation("client", 5), operation("server", 7)], subject)).toBe(7);
    expect(medianOf([operation("client", 5)], subject)).toBe(5);
    expect(medianOf([operation("server", 7, 4)], subject)).toBeUndefined();
  });
});

it("what made it slow is not looked at, where there is anything before it", () => {
  const [before, around] = baselines(START);
  expect(before).toEqual({ from: START - 25n * HOUR, to: START - HOUR, around: false });
  expect(around).toEqual({ from: START - HOUR, to: START + HOUR, around: true });
  for (const { from, to } of placesWithin(before!)) {
    expect(from >= before!.from && to <= before!.to && from < to).toBe(true);
  }
  expect(placesWithin(before!).at(-1)).toMatchObject({ from: START - 25n * HOUR, to: START - HOUR });
});

describe("a search", () => {
  const server = (medians: Record<string, number>, rows: (from: bigint, most: number) => SlowRow[]) => {
    const asked: string[] = [];
    const ask = async (path: string, params: Readonly<Record<string, unknown>> = {}) => {
      const from = readInstant(String(params["from"])) ?? 0n;
      const hours = String((START - from) / HOUR);
      asked.push(`${path} ${hours}`);
      if (path === "operations")
        return { operations: hours in medians ? [operation("server", medians[hours] ?? 0)] : [] };
      return { rows: rows(from, parseInt(String(params["max_duration"]))), next_cursor: "" };
    };
    return { ask: ask as Parameters<typeof findUsual>[1], asked };
  };

  it("ends when there are enough", async () => {
    const { ask, asked } = server({ 25: 100 }, (from, most) =>
      Array.from({ length: 12 }, (_, at) => row(`${from} ${most} ${at}`, most - at)),
    );
    const usual = await findUsual(subject, ask);
    expect(usual).toMatchObject({ medianNano: 100, around: false });
    expect(usual.rows).toHaveLength(24);
    expect(usual.rows[0]?.duration_nano).toBe(100);
    expect(asked).toEqual(["operations 25", "slowest 1", "slowest 1"]);
  });

  it("takes the hours around it where nothing was before, and says so", async () => {
    const { ask } = server({ 1: 50 }, () => [row("other", 50)]);
    expect(await findUsual(subject, ask)).toMatchObject({ around: true, medianNano: 50 });
  });

  it("says why there is none", async () => {
    await expect(findUsual(subject, server({}, () => []).ask)).rejects.toThrow("fewer than 5 spans of shop pay");
    await expect(findUsual(subject, server({ 25: 2e6 }, () => []).ask)).rejects.toThrow("about its median, 2 ms");
  });
});
