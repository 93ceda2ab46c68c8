// Colours of a picture as they are now, read from the style sheets once for light and once for dark.
import { themeColor } from "@/draw/canvas";

/** What every picture needs; a view adds its own. */
const COMMON = ["ground", "panel", "line", "text", "faint", "accent", "bad", "warn", "selected", "hatch"] as const;

export type CommonColor = (typeof COMMON)[number];

export interface Palette<Name extends string = CommonColor> {
  readonly dark: boolean;
  readonly color: Readonly<Record<Name | CommonColor, string>>;
  /** Text that can be read on this colour. */
  readonly ink: (background: string) => string;
  readonly hatch: CanvasPattern | string;
  /** A colour as a pixel of a canvas has it. */
  readonly pixel: (color: string) => number;
}

/** Of the common colours and those of `names`, all of which the style sheets that are loaded must have. */
export function paletteMaker<Name extends string>(
  names: readonly Name[],
): (context: CanvasRenderingContext2D) => Palette<Name> {
  const made = new Map<boolean, Palette<Name>>();
  return (context) => {
    const dark = document.documentElement.dataset["appearance"] === "dark";
    const known = made.get(dark) ?? makePalette(context, dark, [...COMMON, ...names]);
    made.set(dark, known);
    return known;
  };
}

function makePalette<Name extends string>(
  context: CanvasRenderingContext2D,
  dark: boolean,
  names: readonly Name[],
): Palette<Name> {
  const color = Object.fromEntries(names.map((name) => [name, themeColor(name)])) as Palette<Name>["color"];
  return { dark, color, ink: inkOn, hatch: hatchPattern(context, color.hatch) ?? color.panel, pixel: pixelReader() };
}

/** Dark text on what is light, and the other way round; colours of services are all light enough for dark text. */
export function inkOn(background: string): string {
  const [, red = "ff", green = "ff", blue = "ff"] = /^#(..)(..)(..)$/.exec(background) ?? [];
  const light = (hex: string) => (parseInt(hex, 16) / 255) ** 2.2;
  const luminance = 0.2126 * light(red) + 0.7152 * light(green) + 0.0722 * light(blue);
  return luminance > 0.19 ? "#0b1219" : "#ffffff";
}

function hatchPattern(context: CanvasRenderingContext2D, color: string): CanvasPattern | undefined {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  if (!pen) return undefined;
  pen.strokeStyle = color;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const at of [-6, 0, 6]) {
    pen.moveTo(at - 1, 7);
    pen.lineTo(at + 7, -1);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat") ?? undefined;
}

// The browser itself says what a colour is, in whatever words it is written.
function pixelReader(): (color: string) => number {
  const known = new Map<string, number>();
  const tile = document.createElement("canvas");
  tile.width = tile.height = 1;
  const pen = tile.getContext("2d", { willReadFrequently: true });
  return (color) => {
    const before = known.get(color);
    if (before !== undefined || !pen) return before ?? 0;
    pen.fillStyle = color;
    pen.fillRect(0, 0, 1, 1);
    const pixel = new Uint32Array(pen.getImageData(0, 0, 1, 1).data.buffer)[0] ?? 0;
    known.set(color, pixel);
    return pixel;
  };
}
