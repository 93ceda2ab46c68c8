// How far the waterfall is scrolled, and how large its rows are: they grow with the letters.
import { signal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { RefObject } from "preact";

export interface Viewport {
  readonly scrollTop: number;
  readonly height: number;
  readonly rowHeight: number;
  readonly headHeight: number;
  readonly fontPixels: number;
}

/** No screen is higher; a layout that is would make a row of the document for every span. */
const MOST_PIXELS = 8000;

function measure(element: HTMLElement | null): Viewport {
  const letters = parseFloat(getComputedStyle(document.documentElement).fontSize) || 14;
  return {
    scrollTop: element?.scrollTop ?? 0,
    height: Math.min(element?.clientHeight ?? 0, MOST_PIXELS),
    rowHeight: Math.round(letters * 1.7),
    headHeight: Math.round(letters * 2),
    fontPixels: Math.round(letters * 0.86),
  };
}

export function useViewport(scroller: RefObject<HTMLElement | null>): ReadonlySignal<Viewport> {
  const viewport = useMemo(() => signal(measure(null)), []);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const update = () => {
      viewport.value = measure(element);
    };
    const scrolled = () => {
      viewport.value = { ...viewport.peek(), scrollTop: element.scrollTop };
    };
    update();
    const sizes = new ResizeObserver(update);
    sizes.observe(element);
    element.addEventListener("scroll", scrolled, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", scrolled);
    };
  }, []);
  return viewport;
}
