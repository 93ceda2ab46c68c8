// The colours of a timeline.
import { paletteMaker, type CommonColor, type Palette as PaletteOf } from "@/draw/palette";

const NAMES = [
  "running",
  "runnable",
  "sleeping",
  "uninterruptible",
  "blocked",
  "stopped",
  "unknown",
  "system-call",
  "page-fault",
  "event",
] as const;

export type ColorName = (typeof NAMES)[number] | CommonColor;
export type Palette = PaletteOf<ColorName>;

export const paletteOf: (context: CanvasRenderingContext2D) => Palette = paletteMaker<ColorName>(NAMES);
