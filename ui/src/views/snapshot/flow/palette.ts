// The colours of calls: a hue for each function, grey for what is put together.
import { paletteMaker, type Palette } from "@/draw/palette";
import { HUES, MERGED_LOOK } from "./looks";

export const paletteOf: (context: CanvasRenderingContext2D) => Palette<"sleeping"> = paletteMaker(["sleeping"]);

const made = new Map<boolean, readonly string[]>();

function huesOf(dark: boolean): readonly string[] {
  const known = made.get(dark);
  if (known) return known;
  const hue = (at: number) => (at * 360) / HUES;
  const lightness = (at: number) => (dark ? 0.66 : 0.7) + (at % 2 ? 0.07 : 0);
  const colors = Array.from({ length: HUES }, (_, at) => `oklch(${lightness(at).toFixed(2)} 0.11 ${hue(at)})`);
  made.set(dark, colors);
  return colors;
}

export function colorOf({ dark, color }: Palette<"sleeping">, look: number): string {
  return huesOf(dark)[look] ?? (look === MERGED_LOOK ? color.faint : color.sleeping);
}

/** Calls that are put together are fainter than one. */
export function alphaOf(look: number): number {
  return look === MERGED_LOOK ? 0.45 : 1;
}
