// The axis of the chart: all of the thread in small, and ticks of what is in sight.
import { useMemo } from "preact/hooks";
import { AXIS_HEIGHT } from "@/draw/axis";
import { Canvas } from "@/draw/canvas";
import { Rubber } from "@/draw/Rubber";
import { useAxisGestures } from "@/draw/useAxisGestures";
import { isDark } from "@/state/appearance";
import type { Flow } from "./flow";
import { offsetLabel } from "./offsets";
import { axisPainter } from "./paint";

export function FlowAxis({ flow, at }: { flow: Flow; at: number | undefined }) {
  const { extent, view, pieces, thread, unit } = flow;
  const dark = isDark.value;
  const paint = useMemo(
    () => axisPainter({ extent, view, tileAt: (key) => pieces.tiles.get(key) }, thread.depths, offsetLabel(unit), at),
    [extent, view, pieces.tiles, pieces.tilesVersion, at, dark],
  );
  const { element, rubber, on } = useAxisGestures(flow);
  return (
    <div class="flow-axis" ref={element} style={{ height: `${AXIS_HEIGHT}px` }} {...on}>
      <Canvas paint={paint} style={{ height: `${AXIS_HEIGHT}px` }} role="img" aria-label="Axis" />
      {rubber && <Rubber {...rubber} />}
    </div>
  );
}
