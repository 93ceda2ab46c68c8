// A canvas that is drawn anew when its painter or its size changes: at the screen's own pixels, once per frame.
import { useEffect, useRef } from "preact/hooks";
import type { HTMLAttributes } from "preact";

/** Draws on a surface of `width` x `height` CSS pixels, neither of them 0; the surface is clear, and scaled for the screen. */
export type Painter = (context: CanvasRenderingContext2D, width: number, height: number) => void;

type Attributes = Omit<HTMLAttributes<HTMLCanvasElement>, "ref" | "width" | "height">;

export function Canvas({ paint, ...attributes }: { paint: Painter } & Attributes) {
  const element = useRef<HTMLCanvasElement>(null);
  const painter = useRef(paint);
  const schedule = useRef<() => void>(() => undefined);
  painter.current = paint;

  useEffect(() => {
    const canvas = element.current;
    if (!canvas) return undefined;
    let frame = 0;
    schedule.current = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        drawOn(canvas, painter.current);
      });
    };
    const sizes = new ResizeObserver(schedule.current);
    sizes.observe(canvas);
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", schedule.current);
    return () => {
      sizes.disconnect();
      dark.removeEventListener("change", schedule.current);
      cancelAnimationFrame(frame);
    };
  }, []);

  useEffect(() => schedule.current(), [paint]);
  return <canvas ref={element} {...attributes} />;
}

function drawOn(canvas: HTMLCanvasElement, paint: Painter): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  // It has left the document, or has no room: painters may count on some.
  if (width === 0 || height === 0) return;
  const scale = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== across) canvas.width = across;
  if (canvas.height !== down) canvas.height = down;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  paint(context, width, height);
}

/** The value of a colour (or another custom property) of theme.css, as it is now: light or dark. */
export function themeColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
