// Draws what waits to be drawn, at once: a key means what the one before has made of the page, however quickly it comes.
import { options } from "preact";

let waiting: (() => void) | undefined;

export function drawWaiting(): void {
  const draw = waiting;
  waiting = undefined;
  draw?.();
}

/** Before anything is drawn. */
export function followDrawing(): void {
  options.debounceRendering = (draw) => {
    waiting = draw;
    queueMicrotask(drawWaiting);
  };
}
