// What the pointer does in the waterfall's picture: a click selects, dragging moves the time, dragging in the axis
// chooses a stretch of it, a double click shows a span's time; the wheel with Ctrl goes closer, with Shift sideways.
import { useSignal, type ReadonlySignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { Actions } from "./actions";
import { lengthOf, timeWidth } from "./timeWindow";
import type { Viewport } from "./viewport";

const DRAG_PIXELS = 4;

interface Drag {
  readonly fromX: number;
  readonly inAxis: boolean;
  lastX: number;
  moved: boolean;
}

export interface TimePointer {
  readonly at: ReadonlySignal<number | undefined>;
  readonly chosen: ReadonlySignal<readonly [number, number] | undefined>;
  readonly handlers: object;
}

export function useTimePointer(latestAct: Actions, viewport: ReadonlySignal<Viewport>): TimePointer {
  const at = useSignal<number | undefined>(undefined);
  const chosen = useSignal<readonly [number, number] | undefined>(undefined);
  const acting = useRef(latestAct);
  acting.current = latestAct;
  return useMemo(() => {
    let drag: Drag | undefined;
    const placeAt = (event: MouseEvent) => {
      const { scrollTop, headHeight, rowHeight } = viewport.peek();
      return Math.floor((event.offsetY - headHeight + scrollTop) / rowHeight);
    };
    const widthOf = (event: Event) => timeWidth(elementOf(event).clientWidth, viewport.peek().fontPixels);
    const inAxis = (event: MouseEvent) => event.offsetY < viewport.peek().headHeight;
    const down = (event: PointerEvent) => {
      if (event.button !== 0) return;
      elementOf(event).setPointerCapture(event.pointerId);
      drag = { fromX: event.offsetX, lastX: event.offsetX, inAxis: inAxis(event), moved: false };
    };
    const move = (event: PointerEvent) => {
      at.value = event.offsetX;
      if (!drag) return;
      drag.moved ||= Math.abs(event.offsetX - drag.fromX) >= DRAG_PIXELS;
      if (!drag.moved) return;
      if (drag.inAxis) chosen.value = stretch(drag.fromX, event.offsetX);
      else acting.current.pan((drag.lastX - event.offsetX) / widthOf(event));
      drag.lastX = event.offsetX;
    };
    const up = (event: PointerEvent) => {
      if (chosen.value) choose(acting.current, chosen.value, widthOf(event));
      else if (drag && !drag.moved && !drag.inAxis && placeAt(event) < acting.current.rows.length)
        acting.current.selectRow(placeAt(event));
      chosen.value = undefined;
      drag = undefined;
    };
    const handlers = {
      onPointerDown: down,
      onPointerMove: move,
      onPointerUp: up,
      onPointerCancel: () => ((drag = undefined), (chosen.value = undefined)),
      onPointerLeave: () => (at.value = undefined),
      onDblClick: (event: MouseEvent) => (inAxis(event) ? acting.current.showAll() : acting.current.showSelected()),
      onWheel: (event: WheelEvent) => wheel(acting.current, event, widthOf(event)),
    };
    return { at, chosen, handlers };
  }, []);
}

function elementOf(event: Event): HTMLElement {
  if (!(event.currentTarget instanceof HTMLElement)) throw new TypeError("an element has the handler");
  return event.currentTarget;
}

function stretch(one: number, other: number): readonly [number, number] {
  return one < other ? [one, other] : [other, one];
}

function choose(act: Actions, [from, to]: readonly [number, number], width: number): void {
  const { window } = act;
  const nano = (x: number) => window.fromNano + (Math.max(0, x) / width) * lengthOf(window);
  act.show({ fromNano: nano(from), toNano: nano(to) });
}

function wheel(act: Actions, event: WheelEvent, width: number): void {
  const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
  if (event.ctrlKey) act.zoom(Math.exp(Math.min(Math.max(event.deltaY, -200), 200) / 200), event.offsetX / width);
  else if (sideways !== 0) act.pan(sideways / width);
  else return;
  event.preventDefault();
}
