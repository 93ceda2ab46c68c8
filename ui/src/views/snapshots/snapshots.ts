// What the list of snapshots says of each.
import { lossText } from "@/parts/loss";
import type { Params } from "@/api/ask";
import type { SnapshotRow } from "@/api/generated/answers";
import type { Place } from "@/state/place";

export function questionOf(place: Place): Params {
  const { host, trace_id, since, from, to } = place.query;
  return { host, trace_id, since, from, to, limit: 100 };
}

/** "software stepper, 676,000 times slower": what recorded it, and what that did to the program. */
export function engineText({ engine, slowdown }: Pick<SnapshotRow, "engine" | "slowdown">): string {
  if (engine === "intel_pt") return "Intel PT";
  if (engine === "stand_in") return "stand-in: nothing that ran";
  return `software stepper${slowdown > 0 ? `, ${timesText(slowdown)} slower` : ", slowdown not measured"}`;
}

/** As many digits as one can believe: three. */
export function timesText(slowdown: number): string {
  const rounded = Number(slowdown.toPrecision(3));
  return `${rounded.toLocaleString("en", { maximumSignificantDigits: 3 })} times`;
}

/** The program without its directories, and its arguments. */
export function commandText(command: string): string {
  const [program = "", ...rest] = command.split(" ");
  return [program.slice(program.lastIndexOf("/") + 1), ...rest].join(" ");
}

/** When it was taken; of one that does not say it, when it came. */
export function whenOf(row: SnapshotRow): { at: bigint; received: boolean } {
  const received = row.taken_unix_nano === "0";
  return { at: BigInt(received ? row.received_unix_nano : row.taken_unix_nano), received };
}

export function doubtsOf(row: SnapshotRow): string[] {
  const doubts: string[] = [];
  if (row.damaged) doubts.push("damaged: it cannot be read any more");
  if (row.missing_images > 0) doubts.push(`${row.missing_images} of ${row.images} images missing: gaps`);
  for (const loss of row.losses) doubts.push(`lost ${lossText(loss)}`);
  return doubts;
}
