// What a snapshot's view asks for: the server's pictures of it, and the commands that ask more.
import { addressOf } from "@/api/ask";
import type { SnapshotAnswer } from "@/api/generated/answers";

export const PICTURES = [
  ["calls", "Calls"],
  ["functions", "Functions"],
  ["sunburst", "Sunburst"],
  ["syscalls", "System calls"],
  ["insns", "Instructions"],
  ["stats", "Packets"],
] as const;

export type Picture = (typeof PICTURES)[number][0];

export function pictureOf(word: string | undefined): Picture {
  return PICTURES.find(([name]) => name === word)?.[0] ?? "calls";
}

export function pictureAddress(id: string, picture: Picture, tid: string | undefined): string {
  return addressOf(`snapshots/${id}/${picture}`, { format: "svg", tid });
}

/** The threads that have a stream of their own, each once; none where streams are of processors. */
export function threadsOf(answer: SnapshotAnswer): readonly number[] {
  return [...new Set((answer.threads ?? []).map(({ tid }) => tid).filter((tid) => tid >= 0))];
}

/** To be copied as it is. */
export function commandOf(id: string, picture: Picture, tid: string | undefined): string {
  return `fathom snapshot ${picture} ${id}${tid ? ` --tid ${tid}` : ""}`;
}
