// Sums of equal waits, which show what many short waits cost together; the most expensive come first.
import type { MoreWaits, WaitSum } from "@/api/generated/answers";
import { formatDuration } from "@/time/nano";
import { guessedText } from "./time_share";
import { THROTTLED_WORDS } from "./tracks/states";
import type { Waits } from "./tracks/track";

interface WithWaits {
  readonly waits?: WaitSum[];
  readonly more_waits?: MoreWaits;
  readonly waits_left_out?: boolean;
}

export function waitsOf({ waits, more_waits, waits_left_out }: WithWaits): Waits {
  return { sums: waits ?? [], leftOut: waits_left_out ?? false, ...(more_waits && { more: more_waits }) };
}

/** "sleeping 518 ms in clock_nanosleep, 101 times (longest 6.27 ms)". */
export function sumText(sum: WaitSum): string {
  const guessed = guessedText({ state: sum.state, nano: sum.total_nano, guessed: sum.guessed_nano ?? 0 });
  const why = sum.throttled ? `, ${THROTTLED_WORDS[sum.throttled]}` : sum.preempted ? ", preempted" : "";
  const place = sum.in ? ` in ${sum.in}` : "";
  return `${sum.state} ${formatDuration(sum.total_nano)}${guessed && ` (${guessed})`}${place}${timesText(sum)}${why}`;
}

function timesText({ count, longest_nano }: WaitSum): string {
  return count > 1 ? `, ${count.toLocaleString("en")} times (longest ${formatDuration(longest_nano)})` : "";
}

export function moreText({ count, total_nano }: MoreWaits): string {
  return `${count.toLocaleString("en")} more, ${formatDuration(total_nano)} together`;
}
