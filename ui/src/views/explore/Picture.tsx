import type { ComponentChildren } from "preact";
import type { Show } from "./Explorer";
import { formatCount } from "@/parts/figures";
import { formatDuration } from "@/time/nano";
import { rowOfSlowest, type Heat } from "./heat";
import { Heatmap } from "./Heatmap";
import { formatBetween, isBetween } from "@/time/range";
import { selectionOf } from "./selection";
import { zoomedIn, zoomedOut, type Selection, type Words } from "./words";

interface Props {
  readonly words: Words;
  readonly show: Show;
  readonly heat: Heat | undefined;
  readonly stale: boolean;
  readonly failed: boolean;
  readonly children: ComponentChildren;
}

/** The heatmap with its head, and what stands below it over the same time. */
export function Picture({ words, show, heat, stale, failed, children }: Props) {
  const { selection: _, ...bare } = words;
  const select = (selection: Selection | undefined): void => show(selection ? { ...bare, selection } : bare);
  const drawn = heat !== undefined && heat.spans > 0;
  return (
    <section class="explore-picture" aria-label="Durations over time">
      <Head words={words} show={show} heat={heat} select={select} />
      {drawn ? (
        <Heatmap
          heat={heat}
          zone={words.zone}
          selection={words.selection}
          stale={stale}
          select={select}
          zoomIn={(selection) => show(zoomedIn({ ...words, selection }))}
          zoomOut={() => show(zoomedOut(words))}
        />
      ) : (
        <Nothing words={words} waits={heat === undefined && !failed} failed={failed} />
      )}
      {children}
    </section>
  );
}

function Nothing({ words, waits, failed }: { words: Words; waits: boolean; failed: boolean }) {
  const narrow = words.service || words.operation || words.where.length > 0 || words.errors;
  return (
    <div class="heatmap heatmap-empty" role="status">
      {waits && "Asking …"}
      {!waits && !failed && (
        <p>
          No spans {narrow ? "fit these conditions" : "were started"} in this range.
          <br />
          {narrow ? "Take a condition away, or choose a longer range." : "Choose a longer range."}
        </p>
      )}
    </div>
  );
}

interface HeadProps extends Pick<Props, "words" | "show" | "heat"> {
  readonly select: (selection: Selection) => void;
}

function Head({ words, show, heat, select }: HeadProps) {
  const slowest = heat && rowOfSlowest(heat, 0.01);
  const box = heat && slowest !== undefined && { left: 0, right: heat.columns - 1, low: slowest, high: heat.rows - 1 };
  return (
    <div class="explore-head">
      <h2>{words.operation || words.service || "All services"}</h2>
      <span class="faint">
        {heat && `${formatCount(heat.spans)} spans · `}
        {isBetween(words.range) ? formatBetween(words.range, words.zone) : `last ${words.range.since}`}
        {heat && ` · one column is ${formatDuration(heat.stepNano)}`}
      </span>
      <span class="explore-actions">
        <button
          disabled={!box}
          title="select the slowest hundredth"
          onClick={() => heat && box && select(selectionOf(heat, box))}
        >
          Slowest 1 %
        </button>
        <button disabled={!words.selection} onClick={() => show(zoomedIn(words))}>
          Zoom <kbd>z</kbd>
        </button>
        <button disabled={words.outer.length === 0} onClick={() => show(zoomedOut(words))}>
          Undo <kbd>u</kbd>
        </button>
      </span>
    </div>
  );
}
