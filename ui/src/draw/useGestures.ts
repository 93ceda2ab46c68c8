// The pointer over the picture: dragging moves it, dragging with Shift (or on the axis) chooses what to zoom to, the
// wheel zooms with Ctrl, moves with Shift, and scrolls lanes where there are more than have room.
import { useEffect, useRef, useState } from "preact/hooks";

export interface Gestures {
  /** By so many pixels. */
  readonly pan: (pixels: number) => void;
  readonly zoom: (factor: number, pixel: number) => void;
  readonly range: (left: number, right: number) => void;
  readonly click: (across: number, down: number) => void;
  readonly hover: (at: { across: number; down: number } | undefined) => void;
  /** Undefined: whether the wheel alone zooms here. */
  readonly wheelZooms: () => boolean;
}

export interface Rubber {
  readonly left: number;
  readonly right: number;
}

interface Drag {
  readonly from: number;
  readonly last: number;
  readonly moved: boolean;
  readonly ranges: boolean;
}

const CLICK_PIXELS = 4;

export function useGestures(gestures: Gestures, rangesAlways = false) {
  const element = useRef<HTMLDivElement>(null);
  const drag = useRef<Drag | undefined>(undefined);
  const latest = useRef(gestures);
  latest.current = gestures;
  const [rubber, setRubber] = useState<Rubber>();

  const at = (event: PointerEvent | WheelEvent) => {
    const box = element.current?.getBoundingClientRect();
    return { across: event.clientX - (box?.left ?? 0), down: event.clientY - (box?.top ?? 0) };
  };
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    element.current?.setPointerCapture(event.pointerId);
    const { across } = at(event);
    drag.current = { from: across, last: across, moved: false, ranges: rangesAlways || event.shiftKey };
  };
  const onPointerMove = (event: PointerEvent) => {
    const { across, down } = at(event);
    const now = drag.current;
    if (!now) return latest.current.hover({ across, down });
    const moved = now.moved || Math.abs(across - now.from) >= CLICK_PIXELS;
    drag.current = { ...now, last: across, moved };
    if (!moved) return;
    if (now.ranges) setRubber({ left: Math.min(now.from, across), right: Math.max(now.from, across) });
    else latest.current.pan(now.last - across);
  };
  const onPointerUp = (event: PointerEvent) => {
    const now = drag.current;
    drag.current = undefined;
    setRubber(undefined);
    if (!now) return;
    const { across, down } = at(event);
    if (!now.moved) latest.current.click(across, down);
    else if (now.ranges) latest.current.range(Math.min(now.from, across), Math.max(now.from, across));
  };
  const onPointerCancel = () => {
    drag.current = undefined;
    setRubber(undefined);
  };

  useEffect(() => {
    const surface = element.current;
    const turn = (event: WheelEvent) => {
      if (onWheel(event, at(event).across, latest.current)) event.preventDefault();
    };
    // Preact's own listeners may not prevent scrolling.
    surface?.addEventListener("wheel", turn, { passive: false });
    return () => surface?.removeEventListener("wheel", turn);
  }, []);

  const onPointerLeave = () => latest.current.hover(undefined);
  return { element, rubber, on: { onPointerDown, onPointerMove, onPointerUp, onPointerCancel, onPointerLeave } };
}

function onWheel(event: WheelEvent, across: number, gestures: Gestures): boolean {
  const [right, down] = [pixelsOf(event, event.deltaX), pixelsOf(event, event.deltaY)];
  if (event.ctrlKey || event.altKey || (gestures.wheelZooms() && !event.shiftKey && Math.abs(down) > Math.abs(right))) {
    gestures.zoom(Math.exp(Math.max(-120, Math.min(120, down)) / 300), across);
    return true;
  }
  const sideways = event.shiftKey && right === 0 ? down : right;
  if (Math.abs(sideways) <= Math.abs(event.shiftKey ? 0 : down)) return false;
  gestures.pan(sideways);
  return true;
}

function pixelsOf(event: WheelEvent, delta: number): number {
  return event.deltaMode === 1 ? delta * 16 : delta;
}
