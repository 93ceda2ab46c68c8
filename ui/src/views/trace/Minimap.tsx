// The whole trace at once, small, with the window of time that the waterfall shows: dragging chooses another one, or
// moves it, or moves one of its sides.
import { useMemo, useRef } from "preact/hooks";
import { Canvas, themeColor, type Painter } from "@/draw/canvas";
import { isDark } from "@/state/appearance";
import type { Actions } from "./actions";
import type { TraceModel } from "./model";
import { isWhole, lengthOf, wholeWindow, type TimeWindow } from "./timeWindow";
import { isError } from "./tree";

const PATH_PIXELS = 4;
const SIDE_PIXELS = 7;
const LEAST_PIXELS = 3;

export function Minimap({ act }: { act: Actions }) {
  const { model } = act;
  const dark = isDark.value;
  const paint = useMemo(
    (): Painter => (context, width, height) => paintAll(context, width, height, model, dark),
    [model, dark],
  );
  return (
    <div class="minimap" aria-hidden="true">
      <Canvas class="minimap-all" paint={paint} />
      <Overlay act={act} />
    </div>
  );
}

/** A line for so many spans that they fit; of those that fall on one, what was drawn already is not drawn again. */
function paintAll(context: CanvasRenderingContext2D, width: number, height: number, model: TraceModel, dark: boolean) {
  const { nodes, durationNano } = model.tree;
  const room = height - PATH_PIXELS - 2;
  const scale = width / wholeWindow(durationNano).toNano;
  const step = room / Math.max(nodes.length, 1);
  const [bad, colors] = [themeColor("bad"), new Map<string, string>()];
  const colorOf = (service: string) => {
    const known = colors.get(service) ?? model.colors(service, dark);
    colors.set(service, known);
    return known;
  };
  const drawn = new Float64Array(Math.ceil(room) + 1).fill(-1);
  for (const node of nodes) {
    const y = node.index * step;
    const [from, to] = [node.startNano * scale, Math.max(node.endNano * scale, node.startNano * scale + 1)];
    const line = Math.floor(y);
    if (!isError(node) && step < 1 && to <= (drawn[line] ?? 0)) continue;
    drawn[line] = Math.max(drawn[line] ?? 0, to);
    context.fillStyle = isError(node) ? bad : colorOf(node.span?.service ?? "");
    context.fillRect(from, y, to - from, Math.max(1, Math.min(step - 1, 4)));
  }
  context.fillStyle = themeColor("critical");
  let until = -1;
  for (const piece of model.path.pieces) {
    const [from, to] = [piece.startNano * scale, piece.endNano * scale];
    if (to <= until) continue;
    context.fillRect(from, height - PATH_PIXELS, Math.max(1, to - from), PATH_PIXELS);
    until = Math.max(to, from + 1);
  }
}

type Grip = "new" | "move" | "from" | "to";

function Overlay({ act }: { act: Actions }) {
  const acting = useRef(act);
  acting.current = act;
  const handlers = useMemo(() => dragging(() => acting.current), []);
  const { durationNano } = act.model.tree;
  const whole = wholeWindow(durationNano);
  const window = (act.choices.window.value, act.window);
  const [from, to] = [window.fromNano / whole.toNano, window.toNano / whole.toNano];
  return (
    <div class="minimap-hand" {...handlers}>
      <div class="minimap-shade" style={{ left: 0, width: `${from * 100}%` }} />
      <div class="minimap-shade" style={{ right: 0, width: `${(1 - to) * 100}%` }} />
      {!isWhole(window, durationNano) && (
        <div class="minimap-window" style={{ left: `${from * 100}%`, width: `${(to - from) * 100}%` }} />
      )}
    </div>
  );
}

interface Drag {
  readonly grip: Grip;
  readonly x: number;
  readonly window: TimeWindow;
}

function dragging(act: () => Actions) {
  let drag: Drag | undefined;
  const xOf = (event: PointerEvent, element: HTMLElement) => event.clientX - element.getBoundingClientRect().left;
  return {
    onPointerDown(event: PointerEvent) {
      if (!(event.currentTarget instanceof HTMLElement)) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      const x = xOf(event, event.currentTarget);
      drag = { grip: gripAt(act(), x, event.currentTarget.clientWidth), x, window: act().window };
    },
    onPointerMove(event: PointerEvent) {
      if (!drag || !(event.currentTarget instanceof HTMLElement)) return;
      const x = xOf(event, event.currentTarget);
      if (Math.abs(x - drag.x) < LEAST_PIXELS) return;
      const whole = wholeWindow(act().model.tree.durationNano);
      act().show(draggedTo(drag, x, whole.toNano / event.currentTarget.clientWidth));
    },
    onPointerUp: () => (drag = undefined),
    onPointerCancel: () => (drag = undefined),
    onDblClick: () => act().showAll(),
  };
}

function gripAt(act: Actions, x: number, width: number): Grip {
  const { durationNano } = act.model.tree;
  if (isWhole(act.window, durationNano)) return "new";
  const scale = width / wholeWindow(durationNano).toNano;
  const [from, to] = [act.window.fromNano * scale, act.window.toNano * scale];
  if (Math.abs(x - from) <= SIDE_PIXELS) return "from";
  if (Math.abs(x - to) <= SIDE_PIXELS) return "to";
  return x > from && x < to ? "move" : "new";
}

function draggedTo({ grip, x, window }: Drag, now: number, nanoPerPixel: number): TimeWindow {
  const by = (now - x) * nanoPerPixel;
  if (grip === "move") {
    const fromNano = Math.max(0, window.fromNano + by);
    return { fromNano, toNano: fromNano + lengthOf(window) };
  }
  const [one, other] =
    grip === "new"
      ? [x * nanoPerPixel, now * nanoPerPixel]
      : grip === "from"
        ? [window.fromNano + by, window.toNano]
        : [window.fromNano, window.toNano + by];
  return { fromNano: Math.max(0, Math.min(one, other)), toNano: Math.max(one, other) };
}
