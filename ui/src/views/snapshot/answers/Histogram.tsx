// A small histogram: heights by count, on a root's scale, so that what is rare is seen beside what is frequent.
import type { SnapshotViewUnit } from "@/api/generated/answers";
import { lengthText } from "../flow/offsets";
import type { Column } from "./shapes";

interface Props {
  readonly columns: readonly Column[];
  /** Undefined: counts. */
  readonly unit?: SnapshotViewUnit | undefined;
  readonly width?: number;
  readonly height?: number;
}

// Of one duration there is one column, and not a full row.
const LEAST_COLUMNS = 12;

export function Histogram({ columns, unit, width = 160, height = 22 }: Props) {
  const most = Math.max(1, ...columns.map(({ count }) => count));
  const each = width / Math.max(1, columns.length);
  const wide = Math.max(1, Math.min(each - 1, width / LEAST_COLUMNS));
  const said = (value: number) => (unit ? lengthText(unit, value) : Math.round(value).toLocaleString("en"));
  const some = columns.filter(({ count }) => count > 0);
  const [first, last] = [some[0], some[some.length - 1]];
  if (!first || !last) return <span class="faint">not seen to its end</span>;
  const label = `from ${said(first.low)} to ${said(last.high)}`;
  return (
    <svg class="histogram" role="img" aria-label={label} width={width} height={height}>
      {columns.map(({ low, high, count }, at) => {
        const tall = count === 0 ? 0 : Math.max(2, Math.sqrt(count / most) * height);
        return (
          <rect key={at} x={at * each + (each - 1 - wide) / 2} y={height - tall} width={wide} height={tall}>
            <title>{`${said(low)} to ${said(high)}: ${count.toLocaleString("en")}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}
