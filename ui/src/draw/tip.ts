// Where what is told of the pointer's place stands: beside it, above it where there is no room below.

export const TIP_WIDTH = 280;
const TIP_HEIGHT = 120;

interface Pointer {
  readonly across: number;
  readonly down: number;
  readonly width: number;
  readonly height: number;
}

export function tipStyle({ across, down, width, height }: Pointer) {
  const left = across + TIP_WIDTH + 24 > width ? across - TIP_WIDTH - 12 : across + 12;
  const vertically = down + TIP_HEIGHT > height ? { bottom: `${height - down + 10}px` } : { top: `${down + 14}px` };
  return { left: `${Math.max(0, left)}px`, width: `${TIP_WIDTH}px`, ...vertically };
}
