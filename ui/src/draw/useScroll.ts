// How far an element is scrolled, and how much of it is in sight.
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

export function useScroll(pane: RefObject<HTMLElement | null>, total: number) {
  const [state, setState] = useState({ scrollTop: 0, height: 0 });
  useEffect(() => {
    const element = pane.current;
    if (!element) return undefined;
    const read = () => setState({ scrollTop: element.scrollTop, height: element.clientHeight });
    read();
    const sizes = new ResizeObserver(read);
    sizes.observe(element);
    element.addEventListener("scroll", read, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", read);
    };
  }, [total]);
  return state;
}

/** Scrolls as little as needed so that this part is in sight. */
export function reveal(pane: HTMLElement | null, top: number, height: number): void {
  if (!pane) return;
  if (top < pane.scrollTop + 8) pane.scrollTop = Math.max(0, top - 32);
  else if (top + height > pane.scrollTop + pane.clientHeight - 8)
    pane.scrollTop = top + height + 32 - pane.clientHeight;
}
