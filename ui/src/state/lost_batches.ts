// The mark of answers that may miss spans: damage to the server's disk destroyed batches received in their time. It is
// shown as long as the reader looks at the same view and time.
import { computed, effect, signal } from "@preact/signals";
import type { LostBatches } from "@/api/generated/answers";
import { markOfAnswer } from "@/api/lost_batches";
import { formatInstant } from "@/time/nano";
import { place } from "./navigation";

interface Mark {
  readonly shown: string;
  readonly lost: LostBatches;
}

const mark = signal<Mark | undefined>(undefined);
const shown = computed(() => {
  const { view, id, query } = place.value ?? { view: undefined, id: undefined, query: {} as Record<string, string> };
  return JSON.stringify([view, id, query["since"], query["from"], query["to"]]);
});

effect(() => {
  const marked = markOfAnswer.value;
  if (marked) mark.value = { shown: shown.peek(), lost: marked.lost };
});

export const lostBatches = computed(() => (mark.value?.shown === shown.value ? mark.value.lost : undefined));

export function lostBatchesText({ most_batches, ...lost }: LostBatches): string {
  const from = formatInstant(BigInt(lost.first_received_unix_nano));
  const to = formatInstant(BigInt(lost.last_received_unix_nano));
  return `Damage to the server's disk ${lostText(most_batches)}, received between ${from} and ${to}. What is shown may miss them.`;
}

function lostText(mostBatches: number | null): string {
  if (mostBatches === null) return "destroyed an unknown number of batches of spans";
  if (mostBatches === 0) return "may have destroyed captures";
  return `destroyed at most ${mostBatches.toLocaleString("en")} ${mostBatches === 1 ? "batch" : "batches"} of spans`;
}
