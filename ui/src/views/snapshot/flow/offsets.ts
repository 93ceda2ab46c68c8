// Offsets of a snapshot's answers, as people read them: nanoseconds, ticks of a counter, or rows.
import type { SnapshotViewUnit } from "@/api/generated/answers";
import { tickLabel } from "@/draw/ticks";
import { formatDuration, formatExactNano } from "@/time/nano";

const counted = (value: number) => Math.round(value).toLocaleString("en");

/** "27.3 ms", "1,234 ticks", "12 rows": how long something took. */
export function lengthText(unit: SnapshotViewUnit, length: number): string {
  return unit === "ns" ? formatDuration(length) : `${counted(length)} ${unit}`;
}

/** With every digit: "27.3 ms (27,312,405 ns)". */
export function exactLength(unit: SnapshotViewUnit, length: number): string {
  const short = lengthText(unit, length);
  if (unit !== "ns") return short;
  const exact = formatExactNano(length);
  return short === exact ? exact : `${short} (${exact})`;
}

/** On an axis: as exact as `step` needs, in the unit of the `largest`. */
export function offsetLabel(unit: SnapshotViewUnit): (offset: number, step: number, largest: number) => string {
  return (offset, step, largest) => {
    if (unit === "ns") return tickLabel(offset, step, largest);
    return `${unit === "rows" ? "row " : ""}${counted(offset)}${unit === "ticks" ? " ticks" : ""}`;
  };
}

/** Every digit, all of a list alike: "1.234 567 ms" in a snapshot of milliseconds. */
export function offsetText(unit: SnapshotViewUnit, offset: number, largest: number): string {
  return unit === "ns" ? tickLabel(offset, 1, Math.max(1, largest)) : counted(offset);
}
