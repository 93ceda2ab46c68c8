// The board: axis, lanes and details, with one viewport and one selection for all of them.
import { useMemo, useRef, useState } from "preact/hooks";
import { AXIS_HEIGHT } from "@/draw/axis";
import { Canvas } from "@/draw/canvas";
import { Rubber } from "@/draw/Rubber";
import { isDark } from "@/state/appearance";
import { go, place as currentPlace } from "@/state/navigation";
import { withQuery, type Place } from "@/state/place";
import { parseFolded, formatFolded, toggled } from "./address";
import { axisPainter } from "./axis";
import { Details } from "./Details";
import { Lanes, type LanesHandle } from "./Lanes";
import { layOut, stripOf } from "./layout";
import type { Model } from "./model";
import {
  describe,
  findSpan,
  formatFound,
  formatSelection,
  parseSelection,
  type Found,
  type Selection,
} from "./selection";
import { Legend, Summary } from "./Summary";
import { useBoardKeys } from "./useBoardKeys";
import { useFillingHeight } from "@/draw/useFillingHeight";
import { useAxisGestures } from "@/draw/useAxisGestures";
import { useViewport } from "@/draw/useViewport";
import { fitted, showing, type Viewport } from "@/draw/viewport";

function change(changes: Readonly<Record<string, string | undefined>>): void {
  if (currentPlace.value) go(withQuery(currentPlace.value, changes), "replace");
}

export function Board({ place, model }: { place: Place; model: Model }) {
  const folded = useMemo(() => parseFolded(place.query["fold"]), [place.query["fold"]]);
  const layout = useMemo(() => layOut(model, folded), [model, folded]);
  const selection = useSelection(place, model, layout);
  const [view, setView] = useViewport(firstView(place, model), "at");
  const lanes = useRef<LanesHandle>(null);
  const body = useFillingHeight();
  const pointer = useRef<number | undefined>(undefined);

  const show = (begin: number, end: number) => setView((before) => showing(before, begin, end, model.bounds));
  const choose = (next: Selection | undefined) => {
    change({ sel: next && formatSelection(next), span: undefined });
    if (!next) return;
    const { begin, end } = describe(next);
    show(begin, end);
    lanes.current?.reveal(next.strip.top + next.row * next.strip.track.rowHeight, next.strip.track.rowHeight);
  };
  const chooseFound = (found: Found | undefined) => {
    if (!found) return;
    const open = new Set(folded);
    open.delete(found.processKey);
    change({ sel: formatFound(found), span: undefined, fold: formatFolded(open) || undefined });
    const strip = stripOf(layout, found.processKey, found.laneKey, found.kind);
    if (strip) lanes.current?.reveal(strip.top, strip.track.height);
    show(found.begin, found.begin);
  };
  const chosen = `${place.query["sel"]} ${place.query["span"]}`;
  const [said, setSaid] = useState({ text: "", of: "" });
  const say = (text: string) => setSaid({ text, of: chosen });
  const fold = (key: string) => change({ fold: formatFolded(toggled(folded, key)) || undefined });
  const controls = { model, layout, selection, view, setView, choose, chooseFound, pointer, say };
  useBoardKeys(controls);
  return (
    <div class="timeline-body" ref={body}>
      <div class="timeline-board">
        <Axis model={model} view={view} setView={setView} />
        <Lanes handle={lanes} fold={fold} folded={folded} {...controls} />
      </div>
      <aside class="timeline-details" aria-label="Details" tabIndex={0} data-scrolls>
        <p class="timeline-said" role="status">
          {said.of === chosen && said.text}
        </p>
        {selection ? (
          <Details {...{ selection, model, choose, layout, chooseFound, say }} />
        ) : (
          <Summary model={model} />
        )}
        <Legend model={model} />
      </aside>
    </div>
  );
}

// What is chosen: an item of the address, or the span that somebody's link names.
function useSelection(place: Place, model: Model, layout: ReturnType<typeof layOut>): Selection | undefined {
  const { sel, span } = place.query;
  return useMemo(() => {
    const found = sel === undefined && span ? findSpan(model, span) : undefined;
    return parseSelection(layout, found ? formatFound(found) : sel);
  }, [model, layout, sel, span]);
}

function firstView(place: Place, model: Model): Viewport {
  const found = place.query["span"] ? findSpan(model, place.query["span"]) : undefined;
  const strip = found && stripOf(layOut(model, new Set()), found.processKey, found.laneKey, found.kind);
  const row = found && strip?.track.rows[found.row];
  if (!found || !row) return fitted(model.whole);
  return fitted({ begin: found.begin, duration: row.endOf(row.firstFrom(found.begin)) - found.begin }, 0.1);
}

interface AxisProps {
  readonly model: Model;
  readonly view: Viewport;
  readonly setView: (next: (before: Viewport) => Viewport) => void;
}

function Axis({ model, view, setView }: AxisProps) {
  const dark = isDark.value;
  const paint = useMemo(() => axisPainter(model, view), [model, view, dark]);
  const { element, rubber, on } = useAxisGestures({ view, setView, bounds: model.bounds });
  return (
    <div class="timeline-axis">
      <div class="timeline-corner faint">time from the start</div>
      <div class="timeline-scale" ref={element} style={{ height: `${AXIS_HEIGHT}px` }} {...on}>
        <Canvas paint={paint} style={{ height: `${AXIS_HEIGHT}px` }} role="img" aria-label="Time axis" />
        {rubber && <Rubber {...rubber} />}
      </div>
    </div>
  );
}
