// The slowest requests, of their slowest spans: a request is in the list once, by that of its spans that lasted longest.
import type { SlowRow } from "@/api/generated/answers";
import { formatCount } from "@/parts/figures";
import { formatDuration } from "@/time/nano";

/** As many different requests are looked for without being asked. */
const WANTED = 50;
// One trace may have more slow spans than all others together; what is asked for it has a bound.
const MOST_PAGES = 8;

/** Whether another page should be asked for, though nobody did. */
export function wantsMore(requests: number, furtherPages: number): boolean {
  return requests < WANTED && furtherPages < MOST_PAGES;
}

/** What is said of the request that the span is of: "of 1.24 s", "812 spans". */
export function requestText({ duration_nano: span, root_duration_nano: root, spans }: SlowRow): string {
  const longer = root > span && formatDuration(root) !== formatDuration(span);
  const whole = longer ? `of ${formatDuration(root)}, ` : "";
  return `${whole}${formatCount(spans)} ${spans === 1 ? "span" : "spans"}`;
}
