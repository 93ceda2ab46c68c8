// What is wrong with a selection that shows nothing, and the ways out.
import { nowUnixNano } from "@/time/nano";
import type { Show } from "./Explorer";
import type { Heat } from "./heat";
import { heldBy, rangeAround, selectionHead } from "./selection_words";
import { withRange, type Words } from "./words";

interface Props {
  readonly words: Words;
  readonly show: Show;
  readonly heat: Heat | undefined;
  /** Spans that the server found in it; undefined while it is not known. */
  readonly selected: number | undefined;
}

export function SelectionNotice({ words, show, heat, selected }: Props) {
  const { selection } = words;
  const held = heat && selection && heldBy(heat, selection, selected);
  if (!selection || !held || held === "something") return null;
  const { selection: _, ...bare } = words;
  const around = () => show({ ...withRange(words, rangeAround(selection, words.range, nowUnixNano())), selection });
  return (
    <p class="notice" role="status">
      <span>
        The selection ({selectionHead(words, heat)}){" "}
        {held === "elsewhere" ? "is not in the range that is shown." : `holds no span ${ofWhat(words)}.`}
      </span>
      {held === "elsewhere" && <button onClick={around}>Show its range</button>}
      <button onClick={() => show(bare)}>Take it away</button>
    </p>
  );
}

function ofWhat({ service, operation, where, errors }: Words): string {
  if (where.length > 0 || errors) return "that fits the conditions";
  return operation ? `of ${operation}` : service ? `of ${service}` : "that is shown";
}
