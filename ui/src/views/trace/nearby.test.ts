import { expect, it } from "vitest";
import type { SnapshotRow, TraceAnswer } from "@/api/generated/answers";
import type { Asker } from "@/parts/held_lock";
import { findNearby, nearest, processesOf } from "./nearby";
import { madeTrace } from "./made";

const resource = (host: string, pid: number) => ({
  ...{ service: "s", service_namespace: "", attributes: { "host.name": host, "process.pid": pid } },
});
const row = (id: string, host: string, taken: number, damaged = false) =>
  ({ id, host, taken_unix_nano: String(taken), damaged, trigger: { trace_id: "t", span_id: "f" } }) as SnapshotRow;
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

const SERVER: readonly SnapshotRow[] = [
  row("one", "a", 20000000500),
  row("two", "a", 21000000000),
  row("three", "b", 20000000400),
];

function answering(pidOf: Readonly<Record<string, number>>, service: string, asked: string[]): Asker {
  const spans = [{ span_id: "f", service }];
  return <Answer>(path: string) => {
    asked.push(path);
    const [kind, id = ""] = path.split("/");
    if (kind === "traces") return Promise.resolve({ spans } as Answer);
    return Promise.resolve((id ? { threads: [{ pid: pidOf[id] }] } : { snapshots: SERVER }) as Answer);
  };
}

it("takes the nearest recording of one of its processes", async () => {
  const asked: string[] = [];
  const found = await findNearby(TRACE, answering({ one: 7, two: 2, three: 7 }, "s", asked));
  expect(found).toEqual({ id: "two", same: "process", laterNano: 1e9 });
  expect(asked).toEqual(["snapshots", "snapshots/one", "snapshots/three", "snapshots/two"]);
  expect(await findNearby({ ...TRACE, resources: [] }, answering({}, "s", asked))).toBeUndefined();
});

it("takes one of the same service else, and none of another's", async () => {
  expect(await findNearby(TRACE, answering({}, "s", []))).toEqual({ id: "one", same: "service", laterNano: 500 });
  expect(await findNearby(TRACE, answering({}, "other", []))).toBeUndefined();
});
