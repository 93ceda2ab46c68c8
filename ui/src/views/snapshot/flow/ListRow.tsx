// A row of the instruction list. What is as above is not said again: the eye finds where a line, a function begins.
import type { SnapshotViewUnit } from "@/api/generated/answers";
import { lineText, shortName } from "@/parts/code_names";
import { offsetText } from "./offsets";
import { mnemonicOf, rowClass, type ShownRow } from "./rows";

interface Props {
  readonly row: number;
  /** Undefined: not here yet. */
  readonly shown: ShownRow | undefined;
  /** The first one in sight says everything. */
  readonly first: boolean;
  readonly top: number;
  readonly selected: boolean;
  readonly total: number;
  readonly unit: SnapshotViewUnit;
  readonly largest: number;
  readonly choose: () => void;
}

export function ListRow({ row, shown, first, top, selected, total, unit, largest, choose }: Props) {
  const kind = shown ? rowClass(shown.row) : "flow-row-waiting";
  const group = shown?.newFunction ? "flow-row-function" : shown?.newLine ? "flow-row-line" : "";
  return (
    <div
      id={`flow-row-${row}`}
      class={`flow-row ${kind} ${group}`}
      style={{ transform: `translateY(${top}px)` }}
      role="option"
      aria-selected={selected}
      aria-posinset={row + 1}
      aria-setsize={total}
      onClick={choose}
    >
      {shown ? (
        <Cells shown={shown} first={first} unit={unit} largest={largest} />
      ) : (
        <span class="faint">row {row.toLocaleString("en")} …</span>
      )}
    </div>
  );
}

function LineOf({ row }: { row: ShownRow["row"] }) {
  const { file = "", line } = row;
  return (
    <>
      <span class="flow-file">{lineText({ file })}</span>
      {file && line !== undefined && `:${line}`}
    </>
  );
}

type CellProps = Required<Pick<Props, "first" | "unit" | "largest">> & { readonly shown: ShownRow };

function Cells({ shown, first, unit, largest }: CellProps) {
  const { row, function: own, newLine, newFunction, newTime } = shown;
  const { mnemonic, operands } =
    row.kind === "instruction" ? mnemonicOf(row.text) : { mnemonic: "", operands: row.text };
  const offset = unit === "rows" ? row.row : row.offset;
  const within = `+0x${(row.function_offset ?? 0).toString(16)}`;
  const place = own ? `${newFunction || first ? shortName(own.name) : ""}${within}` : "";
  return (
    <>
      <span class={`flow-time ${row.time_guessed ? "flow-guessed" : ""}`}>
        {(newTime || first || unit === "rows") && offsetText(unit, offset, largest)}
      </span>
      <span class="flow-address">{row.address ?? ""}</span>
      <span class="flow-text" title={row.text}>
        {mnemonic && <b>{mnemonic}</b>} {operands}
        {row.target && <span class="flow-target"> → {shortName(row.target)}</span>}
      </span>
      <span class={newFunction || first ? "flow-place" : "flow-place flow-again"} title={own?.name}>
        {place}
      </span>
      <span class="flow-line" title={row.file && `${row.file}:${row.line ?? ""}`}>
        {(newLine || first) && <LineOf row={row} />}
      </span>
    </>
  );
}
