// The heatmap's keys: they are its own while it, or nothing, has the focus; a list that has it keeps its arrows.
import type { RefObject } from "preact";
import { useKeys, type KeyBinding } from "@/keys/keys";
import { tally } from "./heat";
import { boxBetween, boxOf, moved, selectionOf, zooms, type Cursor } from "./selection";
import type { HeatmapProps } from "./Heatmap";
import type { Selection } from "./words";

interface Keyed extends HeatmapProps {
  readonly surface: RefObject<HTMLDivElement | null>;
  readonly cursor: Cursor | undefined;
  readonly setCursor: (cursor: Cursor | undefined) => void;
}

const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"] as const;
const SIDES = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "slower", ArrowDown: "quicker" } as const;

export function useHeatmapKeys(keyed: Keyed): void {
  const { heat, surface, cursor, setCursor, select, selection } = keyed;
  const ours = (event: KeyboardEvent): boolean => hasFocus(event, surface.current);
  // Where a selection is, or where the picture is slowest, so that one sees from where the arrows go on.
  const begin = (): void => {
    surface.current?.focus();
    setCursor(cursor ?? cursorOf(keyed) ?? moved(heat, undefined, "", false));
  };
  const step = (key: string, extend: boolean, by = 1): void => {
    surface.current?.focus({ preventScroll: true });
    setCursor(moved(heat, cursor ?? cursorOf(keyed), key, extend, by));
  };
  const drawn = (): Selection | undefined => cursor && selectionOf(heat, boxBetween(cursor.anchor, cursor.at));
  const keep = (): void => {
    const box = cursor && boxBetween(cursor.anchor, cursor.at);
    if (box && tally(heat, box).count > 0) select(selectionOf(heat, box));
    setCursor(undefined);
  };
  const clear = (): void => {
    if (cursor) setCursor(undefined);
    else select(undefined);
  };
  const zoom = (): void => {
    const into = drawn() ?? selection;
    setCursor(undefined);
    if (into && zooms(heat, into)) keyed.zoomIn(into);
  };
  useKeys("Heatmap", [
    { key: "h", what: "go to the heatmap", run: begin },
    ...ARROWS.map((key): KeyBinding => ({ key, what: SIDES[key], when: ours, run: () => step(key, false) })),
    ...ARROWS.map(
      (key): KeyBinding => ({
        key: `Shift+${key}`,
        what: `extend: ${SIDES[key]}`,
        when: ours,
        run: () => step(key, true),
      }),
    ),
    ...ARROWS.slice(0, 2).map(
      (key): KeyBinding => ({
        key: `Ctrl+${key}`,
        what: `ten columns ${SIDES[key]}`,
        when: ours,
        run: () => step(key, false, 10),
      }),
    ),
    { key: "Enter", what: "keep what is drawn as the selection", when: (e) => ours(e) && !!cursor, run: keep },
    { key: "Escape", what: "clear the selection", run: clear },
    { key: "z", what: "zoom into the selection", run: zoom },
    { key: "u", what: "undo the zoom, or the day: back to what was selected", run: keyed.zoomOut },
  ]);
}

function hasFocus(event: KeyboardEvent, surface: HTMLElement | null): boolean {
  return event.target === surface || event.target === document.body;
}

// From where a selection is, the arrows go on.
function cursorOf({ heat, selection }: Keyed): Cursor | undefined {
  const box = selection && boxOf(heat, selection);
  const at = box && { column: box.right, row: box.high };
  return at && { at, anchor: { column: box.left, row: box.low } };
}
