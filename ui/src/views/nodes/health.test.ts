import { expect, it } from "vitest";
import type { NodeRow } from "@/api/generated/answers";
import { agoText, clockText, matching, patients } from "./health";

const well: NodeRow = {
  ...{ node_id: "1", host_name: "well", agent_version: "0.6.0", connected: true },
  ...{ first_seen_unix_nano: "0", last_seen_unix_nano: "0" },
  clock: { offset_nano: -12_345, error_nano: 84_000, measured_unix_nano: "0" },
  ...{ programs: 1, acknowledged_spans: 1, spool_bytes: 0, spool_limit_bytes: 1000, resident_bytes: 1, losses: [] },
};
const { clock: _, ...unclocked } = well;
const node = (host_name: string, more: Partial<NodeRow> = {}): NodeRow => ({ ...well, host_name, ...more });
const said = (more: Partial<NodeRow>) =>
  patients([well, node("a"), node("sick", more)])
    .find((patient) => patient.node.host_name === "sick")!
    .ailments.map(({ severity, what }) => `${severity}: ${what}`);

it("says what is wrong", () => {
  expect(said({})).toEqual([]);
  expect(said({ connected: false })).toEqual(["bad: not connected"]);
  expect(
    said({
      losses: [
        { reason: "pool_full", count: 12 },
        { reason: "malformed", count: 3 },
      ],
    }),
  ).toEqual(["bad: lost 15"]);
  expect(said({ losses: [{ reason: "pool_full", count: 0 }] })).toEqual([]);
  expect(said({ spool_bytes: 900 })).toEqual(["bad: spool is 90 % full"]);
  expect(said({ spool_bytes: 100 })).toEqual(["warn: 100 B wait in its spool"]);
  expect(said({ agent_version: "0.5.0" })).toEqual(["warn: version 0.5.0, most have 0.6.0"]);
  const far = { offset_nano: 2e9, error_nano: 2e7, measured_unix_nano: "0" };
  const unset = { offset_nano: -1795454000123456789, error_nano: 84_000, measured_unix_nano: "0" };
  expect(said({ clock: unset })).toEqual(["warn: its clock is 56.9 y ahead"]);
  expect(said({ clock: far })).toEqual(["warn: its clock is 2 s behind", "warn: its clock is known only to 20 ms"]);
});

it("has the sick first", () => {
  const all = [
    node("b"),
    node("a"),
    { ...unclocked, host_name: "unclocked" },
    node("gone", { connected: false }),
    node("worst", { connected: false, losses: [{ reason: "x", count: 1 }] }),
  ];
  expect(patients(all).map((patient) => patient.node.host_name)).toEqual(["worst", "gone", "unclocked", "a", "b"]);
});

it("tells clocks with what they may be wrong by", () => {
  expect(clockText(well)).toBe("−12.3 µs ± 84 µs");
  expect(clockText(unclocked)).toBe("unknown");
  expect(agoText(0n, 1_000_000_000n)).toBe("now");
  expect(agoText(0n, 900_000_000_000n)).toBe("15 min ago");
});

it("is filtered by host, version and what is wrong", () => {
  const all = patients([node("shop-1"), node("shop-2", { connected: false }), node("db", { agent_version: "0.5.0" })]);
  const hosts = (text?: string) => matching(all, text).map((patient) => patient.node.host_name);
  expect(hosts()).toHaveLength(3);
  expect(hosts("SHOP")).toEqual(["shop-2", "shop-1"]);
  expect(hosts("shop not connected")).toEqual(["shop-2"]);
  expect(hosts("well")).toEqual(["shop-1"]);
  expect(hosts("0.5")).toEqual(["db"]);
});
