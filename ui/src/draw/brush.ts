// Brush: the rectangles of one row, painted at once. A few hundred are painted as such; thousands, which a dense row has,
// become a picture of one pixel's height that is stretched: it costs by the width, not by how many there are.
import type { Palette } from "./palette";

interface Surface {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly palette: Pick<Palette, "pixel">;
}

/** Rectangles of a row that are painted one by one. */
const MOST_RECTANGLES = 150;

export class Brush {
  private count = 0;
  private right = -Infinity;
  private left = 0;
  private look = -1;

  /** By look, a small number that stands for a colour: left and right of each rectangle, whole pixels. */
  constructor(private readonly rectangles = new Map<number, number[]>()) {
    for (const edges of rectangles.values()) this.count += edges.length / 2;
  }

  /** From left to right. Neighbours that look the same become one, unless they are `separate`. */
  add(look: number, left: number, right: number, separate: boolean): void {
    if (!separate && look === this.look && left <= this.right) {
      this.right = Math.max(this.right, right);
      return;
    }
    this.flush();
    [this.look, this.left, this.right] = [look, left, right];
    if (separate) this.flush();
  }

  private flush(): void {
    if (this.look >= 0) {
      const known = this.rectangles.get(this.look);
      if (known) known.push(this.left, this.right);
      else this.rectangles.set(this.look, [this.left, this.right]);
      ++this.count;
    }
    this.look = -1;
  }

  only(wanted: (look: number) => boolean): Brush {
    this.flush();
    return new Brush(new Map([...this.rectangles].filter(([look]) => wanted(look))));
  }

  /** `color` and `alpha` of a look. */
  paint(
    on: Surface,
    top: number,
    height: number,
    color: (look: number) => string,
    alpha: (look: number) => number,
  ): void {
    this.flush();
    if (this.count > MOST_RECTANGLES) this.paintPicture(on, top, height, color, alpha);
    else this.paintRectangles(on.context, top, height, color, alpha);
    on.context.globalAlpha = 1;
  }

  private paintRectangles(
    context: CanvasRenderingContext2D,
    top: number,
    height: number,
    color: (look: number) => string,
    alpha: (look: number) => number,
  ): void {
    this.rectangles.forEach((edges, look) => {
      context.globalAlpha = alpha(look);
      context.fillStyle = color(look);
      forEachEdge(edges, (left, right) => context.fillRect(left, top, right - left, height));
    });
  }

  private paintPicture(
    { context, width, palette }: Surface,
    top: number,
    height: number,
    color: (look: number) => string,
    alpha: (look: number) => number,
  ): void {
    const line = lineOf(width);
    if (!line) return;
    line.pixels.fill(0);
    this.rectangles.forEach((edges, look) => {
      const pixel = withAlpha(palette.pixel(color(look)), alpha(look));
      forEachEdge(edges, (left, right) => line.pixels.fill(pixel, Math.max(0, left), Math.max(0, right)));
    });
    line.context.putImageData(line.image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.globalAlpha = 1;
    context.drawImage(line.context.canvas, 0, 0, width, 1, 0, top, width, height);
  }
}

function forEachEdge(edges: readonly number[], visit: (left: number, right: number) => void): void {
  for (let at = 0; at + 1 < edges.length; at += 2) visit(edges[at] ?? 0, edges[at + 1] ?? 0);
}

/** Pixels are 0xAABBGGRR, as canvases have them on machines that are little-endian: all that browsers run on. */
export function withAlpha(pixel: number, alpha: number): number {
  return ((pixel & 0xffffff) | (Math.round(255 * alpha) << 24)) >>> 0;
}

interface Line {
  readonly context: CanvasRenderingContext2D;
  readonly image: ImageData;
  readonly pixels: Uint32Array;
}

let kept: Line | undefined;

function lineOf(width: number): Line | undefined {
  if (kept && kept.image.width === width) return kept;
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) return undefined;
  const image = context.createImageData(width, 1);
  kept = { context, image, pixels: new Uint32Array(image.data.buffer) };
  return kept;
}
