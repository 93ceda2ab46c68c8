// What the list of the slowest requests says of each.
import type { SlowRow } from "@/api/generated/answers";
import { formatCount } from "@/parts/figures";
import { formatDuration } from "@/time/nano";

/** What is said of the request that the span is of: "of 1.24 s", "812 spans". */
export function requestText({ duration_nano: span, root_duration_nano: root, spans }: SlowRow): string {
  const longer = root > span && formatDuration(root) !== formatDuration(span);
  const whole = longer ? `of ${formatDuration(root)}, ` : "";
  return `${whole}${formatCount(spans)} ${spans === 1 ? "span" : "spans"}`;
}

export interface Shown {
  readonly rows: readonly SlowRow[] | undefined;
  /** How many are left out. */
  readonly hidden: number;
}

/** Those that a recording's single steps made slow say nothing of the service. */
export function withoutStepped(all: readonly SlowRow[] | undefined, without: boolean): Shown {
  if (!all || !without) return { rows: all, hidden: 0 };
  const rows = all.filter(({ stepped }) => !stepped);
  return { rows, hidden: all.length - rows.length };
}
