// Calls over time: the picture, which is as large as the window; deep calls are scrolled to.
import type { RefObject } from "preact";
import { useImperativeHandle, useMemo, useRef, useState } from "preact/hooks";
import { Canvas } from "@/draw/canvas";
import { Rubber } from "@/draw/Rubber";
import { useGestures } from "@/draw/useGestures";
import { reveal, useScroll } from "@/draw/useScroll";
import { fitted, nanoOf, panned, zoomed } from "@/draw/viewport";
import { isDark } from "@/state/appearance";
import { ChartTip, type TipAt } from "./ChartTip";
import type { Flow } from "./flow";
import { chartPainter, DEPTH_PIXELS, depthsInSight, STRIP_PIXELS, type Marks } from "./paint";
import { barAt, breakAt, type Scene } from "./scene";
import { bandsOf, tileKey, wantedTiles } from "./tiles";

export interface ChartHandle {
  readonly revealDepth: (depth: number) => void;
}

interface Props {
  readonly flow: Flow;
  readonly marks: Marks;
  readonly handle: RefObject<ChartHandle | null>;
}

export function Chart({ flow, marks, handle }: Props) {
  const { view, extent, pieces, thread } = flow;
  const pane = useRef<HTMLDivElement>(null);
  const total = STRIP_PIXELS + thread.depths * DEPTH_PIXELS;
  const { scrollTop, height } = useScroll(pane, total);
  const [tip, setTip] = useState<Pointer>();
  useImperativeHandle(
    handle,
    () => ({ revealDepth: (depth) => reveal(pane.current, depth * DEPTH_PIXELS, DEPTH_PIXELS + STRIP_PIXELS) }),
    [],
  );
  const width = pane.current?.clientWidth ?? 0;
  wantTiles(flow, width, scrollTop, height);
  const scene = { extent, view, tileAt: (key: string) => pieces.tiles.get(key) };
  const sized = { ...scene, width: Math.max(1, width) };
  const gestures = useChartGestures(flow, pane, sized, scrollTop, setTip);
  const dark = isDark.value;
  const paint = useMemo(
    () => chartPainter(scene, scrollTop, thread.depths, marks),
    [extent, view, pieces.tiles, pieces.tilesVersion, scrollTop, marks, dark],
  );
  return (
    <div class="flow-chart" ref={pane} tabIndex={0} role="region" aria-label="Calls over time">
      <div style={{ height: `${total}px`, minHeight: "100%" }}>
        <div class="flow-surface" ref={gestures.element} style={{ height: `${height}px` }} {...gestures.on}>
          <Canvas
            paint={paint}
            style={{ height: `${height}px` }}
            role="img"
            aria-label="Calls over time, each below its caller. Left and right go from call to call, i and o into and out of one; the details tell it."
          />
          {gestures.rubber && <Rubber {...gestures.rubber} />}
          {tip && <ChartTip at={tipAt(sized, scrollTop, height, tip)} flow={flow} />}
        </div>
      </div>
    </div>
  );
}

interface Pointer {
  readonly across: number;
  readonly down: number;
}

function below(scene: Scene, scrollTop: number, { across, down }: Pointer) {
  if (down < STRIP_PIXELS) return { depth: -1, bar: undefined };
  const depth = Math.floor((down - STRIP_PIXELS + scrollTop) / DEPTH_PIXELS);
  return { depth, bar: barAt(scene, depth, across) };
}

// Looked up with every drawing: keys move what is below a pointer that rests.
function tipAt(scene: Scene, scrollTop: number, height: number, at: Pointer): TipAt {
  const { bar } = below(scene, scrollTop, at);
  return { ...at, width: scene.width, height, bar, break: breakAt(scene, at.across) };
}

function wantTiles({ extent, view, pieces, thread }: Flow, width: number, scrollTop: number, height: number): void {
  if (width === 0) return;
  const { first, last } = depthsInSight(scrollTop, height, thread.depths);
  const bands = bandsOf(first, last);
  // The first band has the gaps, too, and the overview.
  const wanted = wantedTiles(extent, view, width, bands.includes(0) ? bands : [...bands, 0]);
  pieces.tiles.want(wanted.map(tileKey));
}

function useChartGestures(
  flow: Flow,
  pane: RefObject<HTMLDivElement | null>,
  scene: Scene,
  scrollTop: number,
  setTip: (at: Pointer | undefined) => void,
) {
  const { view, setView, bounds, pointer } = flow;
  const width = () => gestures.element.current?.clientWidth ?? 1;
  const gestures = useGestures({
    pan: (pixels) => {
      setTip(undefined);
      setView((before) => panned(before, (pixels / width()) * before.duration, bounds));
    },
    zoom: (factor, pixel) => setView((before) => zoomed(before, factor, pixel / width(), bounds)),
    range: (left, right) => {
      const begin = nanoOf(view, width(), left);
      setView(() => fitted({ begin, duration: nanoOf(view, width(), right) - begin }, 0));
    },
    click: (across, down) => {
      const { depth, bar } = below(scene, scrollTop, { across, down });
      flow.selectAt(Math.round(nanoOf(view, width(), across)), bar?.call, bar ? depth : undefined);
    },
    hover: (at) => {
      pointer.current = at && at.across / width();
      setTip(at);
    },
    wheelZooms: () => !pane.current || pane.current.scrollHeight <= pane.current.clientHeight + 1,
  });
  return gestures;
}
