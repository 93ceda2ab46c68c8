// The mark `lost_batches` of answers that may miss spans. Apart from the address, so that ask() needs no window.
import { signal } from "@preact/signals";
import type { LostBatches } from "./generated/answers";

/** Of the newest marked answer; another object for each. */
export const markOfAnswer = signal<{ readonly lost: LostBatches } | undefined>(undefined);

/** Call it with every answer of the server. */
export function noteLostBatches(answer: unknown): void {
  const lost = (answer as { lost_batches?: LostBatches } | null)?.lost_batches;
  if (lost) markOfAnswer.value = { lost };
}
