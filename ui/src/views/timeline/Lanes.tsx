// Lanes: the picture, which is as large as the window, over labels that scroll with it.
import { useEffect, useImperativeHandle, useMemo, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";
import { Canvas } from "@/draw/canvas";
import { Rubber } from "@/draw/Rubber";
import { reveal, useScroll } from "@/draw/useScroll";
import { isDark } from "@/state/appearance";
import { Hover, type HoverAt } from "./Hover";
import { Labels } from "./Labels";
import { stripAt } from "./layout";
import { lanesPainter } from "./scene";
import { describe } from "./selection";
import type { BoardControls } from "./useBoardKeys";
import { useGestures } from "@/draw/useGestures";
import { fitted, nanoOf, panned, zoomed } from "@/draw/viewport";

export interface LanesHandle {
  /** Scrolls so that this part is in sight. */
  readonly reveal: (top: number, height: number) => void;
}

interface Props extends BoardControls {
  readonly handle: RefObject<LanesHandle | null>;
  readonly folded: ReadonlySet<string>;
  readonly fold: (key: string) => void;
}

export function Lanes(props: Props) {
  const { model, layout, view, selection, fold, handle } = props;
  const pane = useRef<HTMLDivElement>(null);
  const [hover, setHover] = useState<HoverAt>();
  const { scrollTop, height } = useScroll(pane, layout.height);
  useImperativeHandle(handle, () => ({ reveal: (top, tall) => reveal(pane.current, top, tall) }), []);
  // What somebody's link chose is in sight.
  useEffect(() => {
    if (height > 0 && selection) reveal(pane.current, selection.strip.top, selection.strip.track.height);
  }, [height > 0, layout]);
  const gestures = useLaneGestures(props, pane, setHover);
  const dark = isDark.value;
  const paint = useMemo(
    () => lanesPainter({ model, layout, view, scrollTop, selection }),
    [model, layout, view, scrollTop, selection, dark],
  );
  return (
    <div class="timeline-lanes" ref={pane} tabIndex={0} role="region" aria-label="Lanes: a thread each">
      <div class="timeline-extent" style={{ height: `${layout.height}px` }}>
        <div class="timeline-surface" ref={gestures.element} style={{ height: `${height}px` }} {...gestures.on}>
          <Canvas
            paint={paint}
            style={{ height: `${height}px` }}
            role="img"
            aria-label="Spans, scheduling states, system calls, page faults and events of threads. Arrow keys choose an item; the details tell it."
          />
          {gestures.rubber && <Rubber {...gestures.rubber} />}
          {hover && <Hover at={hover} model={model} view={view} />}
        </div>
        <Labels layout={layout} scrollTop={scrollTop} height={height} fold={fold} />
      </div>
      <p class="visually-hidden" aria-live="polite">
        {selection && `${selection.strip.track.one} ${describe(selection).title}: ${describe(selection).what}`}
      </p>
    </div>
  );
}

function useLaneGestures(
  board: Props,
  pane: RefObject<HTMLDivElement | null>,
  setHover: (at: HoverAt | undefined) => void,
) {
  const { model, layout, view, setView, choose, pointer } = board;
  const width = () => gestures.element.current?.clientWidth ?? 1;
  const below = (across: number, down: number) => {
    const inLayout = down + (pane.current?.scrollTop ?? 0);
    const strip = stripAt(layout, inLayout);
    return { strip, hit: strip?.track.hit(view, width(), across, inLayout - strip.top) };
  };
  const gestures = useGestures({
    pan: (pixels) => {
      setHover(undefined);
      setView((before) => panned(before, (pixels / width()) * before.duration, model.bounds));
    },
    zoom: (factor, pixel) => setView((before) => zoomed(before, factor, pixel / width(), model.bounds)),
    range: (left, right) => {
      const begin = nanoOf(view, width(), left);
      setView(() => fitted({ begin, duration: nanoOf(view, width(), right) - begin }, 0));
    },
    click: (across, down) => {
      const { strip, hit } = below(across, down);
      choose(strip && hit && { strip, row: hit.row, item: hit.item });
    },
    hover: (at) => {
      pointer.current = at && at.across / width();
      const height = gestures.element.current?.clientHeight ?? 1;
      setHover(at && { ...at, width: width(), height, ...below(at.across, at.down) });
    },
    wheelZooms: () => !pane.current || pane.current.scrollHeight <= pane.current.clientHeight + 1,
  });
  return gestures;
}
