// A trace so large that the server gives pages of it: the view shows the first one, and says so.
import type { TraceAnswer } from "@/api/generated/answers";
import { formatDuration } from "@/time/nano";

export function oversizedText(answer: TraceAnswer): string {
  const shown = answer.spans.length.toLocaleString("en-US");
  const most = (answer.spans_at_most ?? answer.spans.length).toLocaleString("en-US");
  return (
    `This trace is too large for one answer. It took ${formatDuration(answer.duration_nano)} ` +
    `and has at most ${most} stored spans. The first ${shown} are shown. ` +
    (answer.complete ? "" : "Whether all of its spans are stored is not known. ") +
    `\`fathom trace ${answer.trace_id}\` shows the next pages.`
  );
}
