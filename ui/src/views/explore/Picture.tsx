import type { ComponentChildren } from "preact";
import type { Show } from "./Explorer";
import { formatCount, formatShare } from "@/parts/figures";
import { Name } from "@/parts/Name";
import { formatDuration, nowUnixNano } from "@/time/nano";
import { rowOfSlowest, slowestApart, slowestShare, type Heat } from "./heat";
import { Heatmap } from "./Heatmap";
import { formatBetween, isBetween } from "@/time/range";
import { dayAround } from "./other_time";
import { holdsApart, selectionOf, zooms } from "./selection";
import { Empty } from "./Empty";
import { useKeys } from "@/keys/keys";
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
        <Nothing words={words} show={show} waits={heat === undefined && !failed} failed={failed} />
      )}
      {children}
    </section>
  );
}

function Nothing({ words, show, waits, failed }: Pick<Props, "words" | "show" | "failed"> & { waits: boolean }) {
  return (
    <div class="heatmap heatmap-empty" role="status">
      {waits && "Asking …"}
      {!waits && !failed && <Empty words={words} show={show} />}
    </div>
  );
}

interface HeadProps extends Pick<Props, "words" | "show" | "heat"> {
  readonly select: (selection: Selection) => void;
}

const SELECT_THESE = "select these, to see how they differ from the others";

/** Those that stand apart, and once these are selected, a share of all. */
function slowestOf({ selection }: Words, heat: Heat | undefined) {
  const apart = heat && !holdsApart(heat, selection) ? slowestApart(heat) : undefined;
  const share = heat ? slowestShare(heat) : 0.01;
  const row = heat && (apart?.row ?? rowOfSlowest(heat, share));
  const box = heat && row !== undefined && { left: 0, right: heat.columns - 1, low: row, high: heat.rows - 1 };
  const many = apart ? formatCount(apart.count) : formatShare(share);
  const why = apart ? `${SELECT_THESE}, from which a gap parts them; once more, a share of all` : SELECT_THESE;
  return { box, many, why };
}

function Head({ words, show, heat, select }: HeadProps) {
  const slowest = slowestOf(words, heat);
  const selectSlowest = () => heat && slowest.box && select(selectionOf(heat, slowest.box));
  const selectDay = (): void => {
    const day = dayAround(words, nowUnixNano());
    if (day) show(day);
  };
  useKeys("Selection", [
    { key: "s", what: "select the slowest ones", run: selectSlowest },
    { key: "d", what: "select its durations in the day around it", run: selectDay },
  ]);
  const { selection, range, zone, outer } = words;
  const useless = selection !== undefined && heat !== undefined && !zooms(heat, selection);
  const name = words.operation || words.service || "All services";
  const time = isBetween(range) ? formatBetween(range, zone) : `last ${range.since}`;
  // The fields above say the range.
  const said = heat ? `${formatCount(heat.spans)} spans · a column is ${formatDuration(heat.stepNano)}` : "";
  return (
    <div class="explore-head picture-head">
      <h2>
        <Name text={name} />
      </h2>
      <span class="faint" title={[said, time].filter(Boolean).join(" · ")}>
        {said}
      </span>
      <span class="explore-actions">
        <button disabled={!slowest.box} title={slowest.why} onClick={selectSlowest}>
          Slowest {slowest.many} <kbd>s</kbd>
        </button>
        <button
          disabled={!selection || useless}
          title={
            useless ? "the selection is as long as the range: there is nothing to zoom into" : "zoom into its time"
          }
          onClick={() => show(zoomedIn(words))}
        >
          Zoom <kbd>z</kbd>
        </button>
        <button disabled={outer.length === 0} onClick={() => show(zoomedOut(words))}>
          Undo <kbd>u</kbd>
        </button>
      </span>
    </div>
  );
}

/** What the cells' colours say; for the foot of the picture. */
export function Legend() {
  return (
    <span
      class="faint heat-legend"
      title="a cell is darker (lighter on dark ground) the more spans it has, and redder the greater the share of them that failed"
    >
      one <span class="heat-ramp" aria-hidden="true" /> most · red: share of errors
    </span>
  );
}
