import { expect, it } from "vitest";
import type { SnapshotRow, TraceAnswer } from "@/api/generated/answers";
import type { Asker } from "@/parts/held_lock";
import { findNearby, nearest, processesOf } from "./nearby";
import { madeTrace } from "./made";

const resource = (host: string, pid: number) => ({
  ...{ service: "s", service_namespace: "", attributes: { "host.name": host, "process.pid": pid } },
});
const row = (id: string, host: string, taken: number, damaged = false) =>
  ({ id, host, taken_unix_nano: String(taken), damaged }) as SnapshotRow;
const TRACE: TraceAnswer = {
  ...madeTrace([{ id: "r", from: 0, to: 100 }]),
  ...{ start_time_unix_nano: "20000000000", duration_nano: 1000 },
  resources: [resource("a", 1), resource("a", 2), resource("b", 1)],
};

it("knows the processes of a trace, and what is near on their hosts", () => {
  expect([...(processesOf(TRACE).get("a") ?? [])]).toEqual([1, 2]);
  const rows = [row("far", "a", 900), row("other", "c", 500), row("near", "b", 510), row("bad", "a", 500, true)];
  expect(nearest(rows, new Set(["a", "b"]), 500n).map(({ id }) => id)).toEqual(["near", "far"]);
});

it("takes the nearest recording of one of its processes only", async () => {
  const asked: string[] = [];
  const ask: Asker = <Answer>(path: string, params = {}) => {
    asked.push(path);
    if (path === "snapshots") {
      expect(params).toMatchObject({ from: "10000000000", to: "30000001000" });
      const list = [row("one", "a", 20000000500), row("two", "a", 21000000000), row("three", "b", 20000000400)];
      return Promise.resolve({ snapshots: list } as Answer);
    }
    return Promise.resolve({ id: path, threads: [{ pid: path.endsWith("two") ? 2 : 7 }] } as Answer);
  };
  expect((await findNearby(TRACE, ask))?.id).toBe("snapshots/two");
  expect(asked).toEqual(["snapshots", "snapshots/one", "snapshots/three", "snapshots/two"]);
  expect(await findNearby({ ...TRACE, resources: [] }, ask)).toBeUndefined();
});
