// The system calls of a thread.
import type { SystemCall } from "@/api/generated/answers";
import { ItemIndex } from "../item_index";
import { nestedRows } from "../nesting";
import { barTrack } from "./bars";
import { lasting, hasAny, unknownWithGaps, type TrackSource } from "./context";
import type { Description, Fact, Track } from "./track";
import { waitsOf } from "../waits";

export function callTrack(source: TrackSource): Track | undefined {
  const { thread } = source;
  if (!thread || !hasAny(thread, "system_calls")) return undefined;
  const nested = nestedRows(thread.system_calls.map(lasting));
  const rows = nested.length > 0 ? nested : [[]];
  const at = (row: number, item: number) => rows[row]?.[item]?.item;
  return barTrack({
    kind: "calls",
    label: "system calls",
    one: "system call",
    rows: rows.map(
      (row) =>
        new ItemIndex(
          row.map((one) => ({ ...one, kind: Number(!!one.item.error) })),
          2,
        ),
    ),
    rowHeight: 16,
    unknown: unknownWithGaps(source.unknownOfKernel, thread.gaps, "system_calls"),
    color: (_, palette) => palette.color["system-call"],
    marked: (kind) => kind === 1,
    guessed: (row, item) => at(row, item)?.begin_unknown ?? false,
    text: (row, item) => textOf(at(row, item)),
    kindName: (kind) => (kind === 1 ? "with an error" : "without an error"),
    describe: ({ row, item }) => describeCall(at(row, item)),
  });
}

function nameOf(call: SystemCall): string {
  return call.name || `system call ${call.number}`;
}

function textOf(call: SystemCall | undefined): string {
  if (!call) return "";
  return [nameOf(call), call.operation, call.error].filter(Boolean).join(" ");
}

function describeCall(call: SystemCall | undefined): Description {
  if (!call) return { title: "", what: "", begin: 0, end: 0, facts: [] };
  return {
    title: nameOf(call),
    what: call.under_way ? "system call, still under way" : "system call",
    begin: call.offset_nano,
    end: call.offset_nano + call.duration_nano,
    facts: factsOf(call),
    ...(call.state_totals && { totals: call.state_totals }),
    ...(call.longest_wait && { longestWait: call.longest_wait, waits: waitsOf(call) }),
  };
}

function factsOf(call: SystemCall): Fact[] {
  const facts: Fact[] = [{ label: "number", value: String(call.number) }];
  if (call.begin_unknown) facts.push({ label: "begin", value: "not known, nor are its arguments" });
  else call.arguments.forEach((value, at) => facts.push({ label: `argument ${at + 1}`, value: inBothWays(value) }));
  if (call.operation) facts.push({ label: "operation", value: call.operation });
  if (call.result !== undefined) facts.push({ label: "result", value: String(call.result) });
  if (call.error) facts.push({ label: "error", value: call.error });
  return facts;
}

/** "281473 (0x44b81)": addresses and flags are read in sixteens. */
export function inBothWays(text: string): string {
  if (!/^\d+$/.test(text)) return text;
  const value = BigInt(text);
  return value < 10n ? text : `${text} (0x${value.toString(16)})`;
}
