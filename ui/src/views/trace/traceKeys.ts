// The keys of the waterfall.
import type { KeyBinding } from "@/keys/keys";
import { go } from "@/state/navigation";
import type { Place } from "@/state/place";
import { heldPlace } from "@/parts/held_lock";
import type { Actions } from "./actions";
import type { Held } from "./Evidence";
import { nodeAt } from "./tree";

const PAGE_ROWS = 20;

export function traceKeys(act: Actions, focusSearch: () => void, held: Held | undefined): readonly KeyBinding[] {
  return [...selecting(act), ...seeking(act, focusSearch), ...folding(act), ...looking(act), ...leaving(act, held)];
}

function selecting(act: Actions): readonly KeyBinding[] {
  return [
    { key: "j", what: "next row", run: () => act.move(1) },
    { key: "k", what: "row before", run: () => act.move(-1) },
    { key: "ArrowDown", what: "next row", run: () => act.move(1) },
    { key: "ArrowUp", what: "row before", run: () => act.move(-1) },
    { key: "PageDown", what: `${PAGE_ROWS} rows on`, run: () => act.move(PAGE_ROWS) },
    { key: "PageUp", what: `${PAGE_ROWS} rows back`, run: () => act.move(-PAGE_ROWS) },
    { key: "Home", what: "first row", run: () => act.selectRow(0) },
    { key: "End", what: "last row", run: () => act.selectRow(Infinity) },
    { key: "Escape", what: "select nothing", run: () => act.selectNothing() },
  ];
}

function seeking(act: Actions, focusSearch: () => void): readonly KeyBinding[] {
  return [
    { key: "c", what: "next on the critical path", run: () => act.stepOnPath(true) },
    { key: "C", what: "before on the critical path", run: () => act.stepOnPath(false) },
    { key: "e", what: "next error", run: () => act.step(act.model.errors, true) },
    { key: "E", what: "error before", run: () => act.step(act.model.errors, false) },
    { key: "/", what: "search in this trace", run: focusSearch },
    { key: "n", what: "next that was found", run: () => act.stepToHit(true) },
    { key: "N", what: "found before", run: () => act.stepToHit(false) },
  ];
}

function folding(act: Actions): readonly KeyBinding[] {
  return [
    { key: " ", what: "open or close the row", run: () => act.toggle(act.place) },
    { key: "h", what: "close the row, or go to the one above", run: () => act.closeOrUp() },
    { key: "l", what: "open the row, or go into it", run: () => act.openOrDown() },
    { key: "[", what: "one level less", run: () => act.levels(-1) },
    { key: "]", what: "one level more", run: () => act.levels(1) },
    { key: "r", what: "fold what repeats, or open it", run: () => act.toggleRuns() },
    { key: "a", what: "open all", run: () => act.openAll() },
  ];
}

function looking(act: Actions): readonly KeyBinding[] {
  return [
    { key: "+", what: "closer", run: () => act.zoom(0.5) },
    { key: "=", what: "closer", run: () => act.zoom(0.5) },
    { key: "-", what: "further away", run: () => act.zoom(2) },
    { key: "0", what: "all of the time", run: () => act.showAll() },
    { key: "z", what: "the selected span's time", run: () => act.showSelected() },
    { key: "ArrowLeft", what: "earlier", run: () => act.pan(-0.2) },
    { key: "ArrowRight", what: "later", run: () => act.pan(0.2) },
    { key: "f", what: "follow: ask again every two seconds, or not", run: () => act.toggleFollow() },
    { key: "t", what: "corrected times, or as they were sent", run: () => act.toggleClock() },
  ];
}

/** To where the answer is when spans do not say it. */
function leaving(act: Actions, held: Held | undefined): readonly KeyBinding[] {
  const { trace_id: id, captures, snapshots = [] } = act.model.answer;
  const span = act.found && !act.found.run ? nodeAt(act.model.tree, act.found.node).spanId : "";
  const timeline = () => go({ view: "timeline", id, query: span ? { span } : {} });
  const first = snapshots.find((one) => one.span_id === span) ?? snapshots[0];
  return [
    ...(captures.length > 0 ? [{ key: "o", what: "what the threads did (of the selected span)", run: timeline }] : []),
    ...(held || first ? [{ key: "i", what: whatOf(held), run: () => go(instructionsOf(first?.id ?? "", held)) }] : []),
  ];
}

function whatOf(held: Held | undefined): string {
  return held ? "the instructions, where the lock was held" : "its instructions";
}

function instructionsOf(id: string, held: Held | undefined): Place {
  return held ? heldPlace(held.id, held.lock) : { view: "snapshot", id, query: {} };
}
