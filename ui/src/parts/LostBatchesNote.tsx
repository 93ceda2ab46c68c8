import { lostBatches, lostBatchesText } from "@/state/lost_batches";

/** A warning above the view if what it shows may miss spans. */
export function LostBatchesNote() {
  const lost = lostBatches.value;
  if (!lost) return null;
  return (
    <div class="problem" role="alert">
      {lostBatchesText(lost)}
    </div>
  );
}
