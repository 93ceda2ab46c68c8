// The heatmap: drawn on a canvas; selected in by dragging, or by the keyboard when it has the focus (or nothing has).
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import type { TargetedPointerEvent } from "preact";
import { Canvas, type Painter } from "@/draw/canvas";
import { isDark } from "@/state/appearance";
import type { Zone } from "@/time/nano";
import { describe, sentence } from "./describe";
import { tally, type Box, type Heat } from "./heat";
import { Label } from "./Label";
import { paintHeatmap, paintMarks, smallText } from "./paint_heatmap";
import { boxDragged, cellUnder, gripAt, plotOf, type Grip, type Point } from "./plot";
import { boxBetween, boxOf, selectionOf, type Cell, type Cursor } from "./selection";
import { useHeatmapKeys } from "./heatmap_keys";
import type { Selection } from "./words";

export interface HeatmapProps {
  readonly heat: Heat;
  readonly zone: Zone;
  readonly selection: Selection | undefined;
  readonly stale: boolean;
  readonly select: (selection: Selection | undefined) => void;
  readonly zoomIn: (selection: Selection) => void;
  readonly zoomOut: () => void;
}

interface Drag {
  readonly grip: Grip;
  readonly from: Cell;
  readonly to: Cell;
}

export function Heatmap(props: HeatmapProps) {
  const { heat, zone, selection, select } = props;
  const [hover, setHover] = useState<Point>();
  const [drag, setDrag] = useState<Drag>();
  const [cursor, setCursor] = useState<Cursor>();
  const surface = useRef<HTMLDivElement>(null);
  const dark = isDark.value;
  const kept = useMemo(() => selection && boxOf(heat, selection), [heat, selection]);
  const drawn = drag ? boxDragged(heat, drag.grip, drag.from, drag.to) : cursor && inside(heat, cursor);
  useHeatmapKeys({ ...props, surface, cursor, setCursor });

  const plot = () => plotOf(surface.current?.clientWidth ?? 0, surface.current?.clientHeight ?? 0, smallText());
  const pointed = hover && !drag ? cellUnder(heat, plot(), hover) : undefined;
  const hovered = pointed && boxBetween(pointed, pointed);
  const paint = useCallback<Painter>((context, w, h) => paintHeatmap(context, w, h, heat, zone), [heat, zone, dark]);
  const [selectedKey, drawnKey, hoveredKey] = [boxKey(kept), boxKey(drawn), boxKey(hovered)];
  const paintAbove = useCallback<Painter>(
    (context, w, h) => paintMarks(context, [w, h], heat, { selected: kept, draft: drawn, hovered }),
    [heat, dark, selectedKey, drawnKey, hoveredKey],
  );

  const press = (event: TargetedPointerEvent<HTMLDivElement>): void => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const at = pointIn(event);
    const cell = cellUnder(heat, plot(), at);
    setCursor(undefined);
    setDrag({ grip: gripAt(plot(), at), from: cell, to: cell });
  };
  const move = (event: TargetedPointerEvent<HTMLDivElement>): void => {
    const at = pointIn(event);
    setHover(gripAt(plot(), at) === "cells" ? at : undefined);
    if (drag) setDrag({ ...drag, to: cellUnder(heat, plot(), at) });
  };
  const release = (): void => {
    if (!drag) return;
    const box = boxDragged(heat, drag.grip, drag.from, drag.to);
    setDrag(undefined);
    select(tally(heat, box).count > 0 ? selectionOf(heat, box) : undefined);
  };

  const told = drawn ?? hovered;
  const words = told && describe(heat, selectionOf(heat, told), tally(heat, told), zone);
  return (
    <div
      class="heatmap"
      ref={surface}
      role="application"
      aria-label="Heatmap of durations over time. Arrows move, with Shift they extend, Enter selects."
      aria-describedby="heatmap-cell"
      tabIndex={0}
      data-busy={props.stale}
      onPointerDown={press}
      onPointerMove={move}
      onPointerUp={release}
      onPointerCancel={() => setDrag(undefined)}
      onPointerLeave={() => setHover(undefined)}
      onBlur={() => setCursor(undefined)}
    >
      <Canvas paint={paint} class="heatmap-cells" aria-hidden="true" />
      <Canvas paint={paintAbove} class="heatmap-marks" aria-hidden="true" />
      {told && words && <Label heat={heat} plot={plot()} box={told} words={words} />}
      <p id="heatmap-cell" class="visually-hidden" role="status">
        {cursor && words ? sentence(words) : ""}
      </p>
    </div>
  );
}

function pointIn(event: TargetedPointerEvent<HTMLDivElement>): Point {
  const { left, top } = event.currentTarget.getBoundingClientRect();
  return { x: event.clientX - left, y: event.clientY - top };
}

// While one follows live the picture may have become smaller than where the cursor was.
function inside(heat: Heat, { at, anchor }: Cursor): Box | undefined {
  const box = boxBetween(at, anchor);
  return box.right < heat.columns && box.high < heat.rows ? box : undefined;
}

function boxKey(box: Box | undefined): string {
  return box ? `${box.left} ${box.right} ${box.low} ${box.high}` : "";
}
