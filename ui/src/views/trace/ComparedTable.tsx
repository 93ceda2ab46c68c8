// Paths of operations beside each other: this request's and another's, or what is usual.
import type { ServiceColors } from "@/draw/service_color";
import { printable } from "@/parts/printable";
import { isDark } from "@/state/appearance";
import { formatDuration } from "@/time/nano";
import { pathOf, type Amount, type Compared, type Order } from "./compare";
import type { UsualRow } from "./ensemble";
import type { SaidOtherwise } from "./said";

interface Props {
  readonly rows: readonly (Compared | UsualRow)[];
  readonly order: Order;
  readonly colors: ServiceColors;
  readonly said: ReadonlyMap<string, readonly SaidOtherwise[]>;
  /** How many usual ones there are; undefined: there is one other. */
  readonly usual?: number;
}

export function ComparedTable({ rows, order, colors, said, usual }: Props) {
  const by = (row: Compared) => (order === "self" ? row.selfNano : row.pathNano);
  const greatest = rows.reduce((most, row) => Math.max(most, Math.abs(by(row))), 1);
  const heads = ["On the path", "Self time", "Spans", "Errors"];
  const sides = usual === undefined ? "this | other" : "this | median, p90";
  return (
    <div class="compared-scroll" tabIndex={0} data-scrolls role="region" aria-label="Differences">
      <table class="compared">
        <thead>
          <tr>
            <th scope="col">Operation</th>
            <th scope="col">{order === "self" ? "Self time" : "On the critical path"}: more here, or less</th>
            {heads.map((head) => (
              <th key={head} scope="col" class="number">
                {head} <div class="sides-head">{sides}</div>
              </th>
            ))}
            {usual !== undefined && (
              <th scope="col" class="number">
                In <div class="sides-head">of {usual}</div>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <ComparedRow
              key={row.key}
              {...{ row, greatest, colors, usual }}
              said={said.get(row.key) ?? []}
              nano={by(row)}
              inTree={order === "tree"}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly row: Compared | UsualRow;
  readonly nano: number;
  readonly greatest: number;
  readonly colors: ServiceColors;
  readonly said: readonly SaidOtherwise[];
  readonly usual: number | undefined;
  readonly inTree: boolean;
}

function ComparedRow({ row, nano, greatest, colors, said, usual, inTree }: RowProps) {
  const above = pathOf(row).slice(0, -1);
  const indent = inTree ? { paddingLeft: `${0.6 + Math.min(row.depth, 24)}rem` } : {};
  const others = usual === undefined ? "the other" : "usual ones";
  return (
    <tr class={nano === 0 && !row.onlyIn ? "same" : ""}>
      <td style={indent}>
        {row.operation !== "" && <i class="chip" style={{ background: colors(row.service, isDark.value) }} />}
        {printable(row.operation) || "a parent that is not stored"} <span class="faint">{row.service}</span>{" "}
        {row.onlyIn && <span class="tag warn">{row.onlyIn === "one" ? "only here" : `only in ${others}`}</span>}
        {!inTree && above.length > 0 && (
          <div class="faint above" title={above.join(" › ")}>
            {above.slice(-2).join(" › ")}
          </div>
        )}
        {said.length > 0 && <Said all={said} usual={usual} />}
      </td>
      <td>
        <Difference nano={nano} greatest={greatest} />
      </td>
      <Pair row={row} text={(amount) => formatDuration(amount.pathNano)} />
      <Pair row={row} text={(amount) => formatDuration(amount.selfNano)} />
      <Pair row={row} text={(amount) => amount.spans.toString()} />
      <Pair row={row} text={(amount) => amount.errors.toString()} />
      {"in" in row && <td class="number">{row.in}</td>}
    </tr>
  );
}

const MOST_SAID = 4;

function Said({ all, usual }: { all: readonly SaidOtherwise[]; usual: number | undefined }) {
  const textOf = ({ key, one, other, shared }: SaidOtherwise) =>
    `${key}: ${one} | ${other}${usual !== undefined && shared > 0 ? ` (${one} in ${shared} of ${usual})` : ""}`;
  return (
    <ul class="said" aria-label="What its spans say otherwise: this | other">
      {all.slice(0, MOST_SAID).map((one) => (
        <li key={one.key} title={textOf(one)}>
          <b>{printable(one.key)}</b> {printable(one.one)} <span class="faint">|</span> {printable(one.other)}
          {usual !== undefined && one.shared > 0 && (
            <span class="faint">
              {" "}
              in {one.shared} of {usual}
            </span>
          )}
        </li>
      ))}
      {all.length > MOST_SAID && (
        <li>
          <details>
            <summary class="faint">and {all.length - MOST_SAID} more</summary>
            {all.slice(MOST_SAID).map((one) => (
              <div key={one.key}>{printable(textOf(one))}</div>
            ))}
          </details>
        </li>
      )}
    </ul>
  );
}

function Difference({ nano, greatest }: { nano: number; greatest: number }) {
  const width = `${(Math.abs(nano) / greatest) * 50}%`;
  return (
    <span class="difference">
      <i class={nano > 0 ? "more" : "less"} style={nano > 0 ? { left: "50%", width } : { right: "50%", width }} />
      <span class={nano > 0 ? "before" : "behind"}>
        {nano === 0 ? "" : `${nano > 0 ? "+" : ""}${formatDuration(nano)}`}
      </span>
    </span>
  );
}

/** This one's, and the other's where it is another; of usual ones the median and the p90. */
function Pair({ row, text }: { row: Compared | UsualRow; text: (amount: Amount) => string }) {
  const [one, median] = [text(row.one), text(row.other)];
  const p90 = "p90" in row ? text(row.p90) : median;
  const other = p90 === median ? median : `${median}, ${p90}`;
  return (
    <td class="number">
      {row.onlyIn === "other" ? "–" : one}
      {(row.onlyIn || one !== other) && <span class="faint"> | {row.onlyIn === "one" ? "–" : other}</span>}
    </td>
  );
}
