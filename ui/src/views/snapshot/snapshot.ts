// What a snapshot's view can show, and where the same is had otherwise.
import { addressOf } from "@/api/ask";
import type { SnapshotAnswer } from "@/api/generated/answers";

/** The first one is what a snapshot's address shows by itself. */
export const PARTS = [
  ["flow", "Instructions"],
  ["calls", "Call tree"],
  ["functions", "Functions"],
  ["sunburst", "Sunburst"],
  ["syscalls", "System calls"],
  ["delta", "From … to"],
  ["diff", "Difference"],
  ["stats", "Packets"],
] as const;

export type Part = (typeof PARTS)[number][0];

export function partOf(word: string | undefined): Part {
  return PARTS.find(([name]) => name === word)?.[0] ?? "flow";
}

/** The one behind (1) or before (-1), in a circle. */
export function partBeside(part: Part, by: 1 | -1): Part {
  const at = PARTS.findIndex(([name]) => name === part);
  return PARTS.at((at + by) % PARTS.length)?.[0] ?? "flow";
}

export function pictureAddress(id: string, verb: string, tid: string | undefined): string {
  return addressOf(`snapshots/${id}/${verb}`, { format: "svg", tid });
}

/** The threads that have a stream of their own, each once; none where streams are of processors. */
export function threadsOf(answer: SnapshotAnswer): readonly number[] {
  return [...new Set((answer.threads ?? []).map(({ tid }) => tid).filter((tid) => tid >= 0))];
}

/** "because a span of thread 7 was overdue"; "" where nothing asked for it. */
export function causeText({ reason, tid }: Pick<SnapshotAnswer["trigger"], "reason" | "tid">): string {
  const span = tid >= 0 ? `because a span of thread ${tid}` : "because a span";
  const texts: Readonly<Record<string, string>> = {
    "": "",
    overdue: `${span} was overdue`,
    slow: `${span} was over its threshold at its end`,
    error: `${span} ended with an error`,
    requested: "asked for by a person",
    program: "asked for by the program",
    crash: "because the process crashed",
    remote: "because another process of its trace was triggered",
    symbol: `because ${tid >= 0 ? `thread ${tid}` : "a thread"} called the function that was waited for`,
  };
  return texts[reason] ?? `because of ${reason}${tid >= 0 ? ` in thread ${tid}` : ""}`;
}

export interface Wanted {
  readonly tid?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly other?: string | undefined;
}

/** To be copied as it is. */
export function commandOf(id: string, part: Part, { tid, from, to, other }: Wanted): string {
  const verb = part === "flow" ? "insns" : part;
  const words = [`fathom snapshot ${verb} ${id}`];
  if (part === "diff") words.push(other ?? "OTHER");
  if (part === "delta") words.push(`--from ${quoted(from || "PATTERN")} --to ${quoted(to || "PATTERN")}`);
  else if (tid) words.push(`--tid ${tid}`);
  return words.join(" ");
}

/** As a shell takes it. */
export function quoted(word: string): string {
  return /^[\w./:+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
