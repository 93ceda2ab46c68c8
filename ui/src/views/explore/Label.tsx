import type { Description } from "./describe";
import type { Box, Heat } from "./heat";
import { rectangleOf, type Plot } from "./plot";

/** What a box says, beside it: to the right where there is room, else to the left. */
export function Label({ heat, plot, box, words }: { heat: Heat; plot: Plot; box: Box; words: Description }) {
  const { x, y, width, height } = rectangleOf(heat, plot, box);
  const right = x + width + 10;
  const flips = right > plot.left + plot.width * 0.7;
  const style = {
    top: `${Math.max(0, Math.min(y + height / 2 - 30, plot.top + plot.height - 76))}px`,
    ...(flips ? { right: `calc(100% - ${Math.max(x - 10, plot.left + plot.width * 0.3)}px)` } : { left: `${right}px` }),
  };
  return (
    <div class="heatmap-label" style={style} aria-hidden="true">
      <strong>{words.spans}</strong> {words.errors !== "no errors" && <span class="bad">{words.errors}</span>}
      <br />
      {words.durations}
      <br />
      <span class="faint">{words.time}</span>
    </div>
  );
}
