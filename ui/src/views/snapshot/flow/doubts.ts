// What a reader of a thread's flow has to know about how true it is.
import type { SnapshotViewAnswer, SnapshotViewThread } from "@/api/generated/answers";

const counted = (count: number, one: string) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

export function doubtsOf(answer: SnapshotViewAnswer, thread: SnapshotViewThread): readonly string[] {
  const doubts: string[] = [];
  if (thread.unit === "rows") doubts.push("no packet tells time: rows stand for it");
  if (thread.unit === "ticks") doubts.push("times are ticks: nothing says how long one is");
  if (answer.nominal_tsc_hz) doubts.push(`times are nominal, at ${(answer.nominal_tsc_hz / 1e9).toFixed(3)} GHz`);
  if (thread.gaps > 0)
    doubts.push(
      `${counted(thread.gaps, "gap")} (${answer.threads.length > 1 ? "all threads: " : ""}${gapText(answer)})`,
    );
  if (answer.left_out_rows > 0) doubts.push(`${counted(answer.left_out_rows, "instruction")} too many are not shown`);
  if (answer.left_out_calls > 0) doubts.push(`${counted(answer.left_out_calls, "call")} too many are not shown`);
  return doubts;
}

function gapText({ gap_reasons }: SnapshotViewAnswer): string {
  return gap_reasons.map(({ reason, count }) => `${reason} ${count.toLocaleString("en")}`).join(", ");
}
