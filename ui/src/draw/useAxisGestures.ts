// The pointer over an axis with its overview: dragging chooses what to zoom to, a click in the overview goes there.
import { useState } from "preact/hooks";
import type { Change } from "@/state/resting";
import { OVERVIEW_HEIGHT } from "./axis";
import { useGestures } from "./useGestures";
import { fitted, nanoOf, panned, zoomed, type Viewport } from "./viewport";

interface Axis {
  readonly view: Viewport;
  readonly setView: Change<Viewport>;
  /** All that there is. */
  readonly bounds: Viewport;
}

// In the overview positions are of all that there is, on the axis of what is in sight.
export function useAxisGestures({ view, setView, bounds }: Axis) {
  const [overview, setOverview] = useState(false);
  const width = () => gestures.element.current?.clientWidth ?? 1;
  const gestures = useGestures(
    {
      pan: (pixels) => setView((before) => panned(before, (pixels / width()) * before.duration, bounds)),
      zoom: (factor, pixel) => setView((before) => zoomed(before, factor, pixel / width(), bounds)),
      range: (left, right) => {
        const scale = overview ? bounds : view;
        const begin = nanoOf(scale, width(), left);
        setView(() => fitted({ begin, duration: nanoOf(scale, width(), right) - begin }, 0));
      },
      click: (across, down) => {
        if (down > OVERVIEW_HEIGHT) return;
        const middle = nanoOf(bounds, width(), across);
        setView((before) => panned(before, middle - before.begin - before.duration / 2, bounds));
      },
      hover: (at) => setOverview(at !== undefined && at.down <= OVERVIEW_HEIGHT),
      wheelZooms: () => true,
    },
    true,
  );
  return gestures;
}
