// An element that is as high as the window has room below its top, and scrolls within.
import { useEffect, useRef } from "preact/hooks";

const LEAST = 320;
const BELOW = 12;

export function useFillingHeight() {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const fill = () => {
      const filled = element.current;
      if (!filled) return;
      const top = filled.getBoundingClientRect().top + window.scrollY;
      filled.style.height = `${Math.max(LEAST, window.innerHeight - top - BELOW)}px`;
    };
    fill();
    const sizes = new ResizeObserver(fill);
    sizes.observe(document.documentElement);
    if (element.current?.parentElement) sizes.observe(element.current.parentElement);
    window.addEventListener("resize", fill);
    return () => {
      sizes.disconnect();
      window.removeEventListener("resize", fill);
    };
  }, []);
  return element;
}
