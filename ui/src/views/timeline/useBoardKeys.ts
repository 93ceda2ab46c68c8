// What the keyboard does on a timeline.
import { useKeys, type KeyBinding } from "@/keys/keys";
import { go, place } from "@/state/navigation";
import { withQuery } from "@/state/place";
import type { Layout } from "./layout";
import type { Model } from "./model";
import { across, beside, describe, firstOf, type Found, type Selection } from "./selection";
import { stepToWaker } from "./wakers";
import { endOf, fitted, panned, zoomed, type Viewport } from "@/draw/viewport";

export interface BoardControls {
  readonly model: Model;
  readonly layout: Layout;
  readonly selection: Selection | undefined;
  readonly view: Viewport;
  readonly setView: (next: (before: Viewport) => Viewport) => void;
  readonly choose: (next: Selection | undefined) => void;
  readonly chooseFound: (found: Found | undefined) => void;
  /** To the reader, until something else is chosen. */
  readonly say: (text: string) => void;
  /** Where the pointer is, as a share of the width: zooming keeps it. */
  readonly pointer: { current: number | undefined };
}

export function useBoardKeys(board: BoardControls): void {
  useKeys("Timeline", [...viewKeys(board), ...itemKeys(board)]);
}

function viewKeys({ model, view, setView, pointer }: BoardControls): KeyBinding[] {
  const zoom = (factor: number) => () =>
    setView((before) => zoomed(before, factor, pointer.current ?? 0.5, model.bounds));
  const pan = (share: number) => () => setView((before) => panned(before, before.duration * share, model.bounds));
  return [
    { key: "w", what: "zoom in, at the pointer", run: zoom(0.7) },
    { key: "s", what: "zoom out", run: zoom(1 / 0.7) },
    { key: "a", what: "move back", run: pan(-0.15) },
    { key: "d", what: "move on", run: pan(0.15) },
    { key: "f", what: "show all of it", run: () => setView(() => fitted(model.whole)) },
    { key: "g", what: "to the (next) trigger", run: () => toTrigger(model, view, setView) },
    { key: "t", what: "all threads, or those of the trace", run: toggleAll },
  ];
}

function toTrigger(model: Model, view: Viewport, setView: BoardControls["setView"]): void {
  const middle = view.begin + view.duration / 2;
  const next = model.triggers.find(({ at }) => at > middle + view.duration * 0.01) ?? model.triggers[0];
  if (next) setView((before) => ({ begin: next.at - before.duration / 2, duration: before.duration }));
}

export function toggleAll(): void {
  if (!place.value) return;
  go(withQuery(place.value, { all: place.value.query["all"] ? undefined : "1" }), "replace");
}

function itemKeys(board: BoardControls): KeyBinding[] {
  const { layout, selection, view, choose } = board;
  const middle = view.begin + view.duration / 2;
  const step = (move: (from: Selection) => Selection) => () =>
    choose(selection ? move(selection) : firstOf(layout, middle));
  const vertically = (by: 1 | -1) => step((from) => across(layout, from, by, momentOf(from, view)));
  return [
    { key: "ArrowRight", what: "next item", run: step((from) => beside(from, 1)) },
    { key: "ArrowLeft", what: "item before", run: step((from) => beside(from, -1)) },
    { key: "ArrowDown", what: "what is below it", run: vertically(1) },
    { key: "ArrowUp", what: "what is above it", run: vertically(-1) },
    { key: "Enter", what: "zoom to the item", run: () => zoomTo(board) },
    { key: "u", what: "to who woke it, then to what that one had waited for", run: () => toWaker(board) },
    { key: "Escape", what: "choose nothing", run: () => choose(undefined) },
  ];
}

// The part of the item that is in sight decides what is below it.
function momentOf(selection: Selection, view: Viewport): number {
  const { begin, end } = describe(selection);
  const [from, to] = [Math.max(begin, view.begin), Math.min(end, endOf(view))];
  return from <= to ? (from + to) / 2 : (begin + end) / 2;
}

function zoomTo({ selection, setView }: BoardControls): void {
  if (!selection) return;
  const { begin, end } = describe(selection);
  setView((before) =>
    end > begin
      ? fitted({ begin, duration: end - begin }, 0.15)
      : { begin: begin - before.duration / 20, duration: before.duration / 10 },
  );
}

/** Goes to who woke what is chosen, or says why that is nowhere. */
export function toWaker({ selection, model, chooseFound, say }: WakerControls): void {
  if (!selection) return say("choose a wait first: who ended it is found from there");
  const found = stepToWaker(model, selection, describe(selection));
  if ("nobody" in found) say(found.nobody);
  else chooseFound(found);
}

export type WakerControls = Pick<BoardControls, "selection" | "model" | "chooseFound" | "say">;
