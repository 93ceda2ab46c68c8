// The waterfall: on the left the spans by name, as a tree whose rows are in the document only while they are in sight; on
// the right one canvas with their time. Both are moved together: they stick to the top of what scrolls.
import { computed, useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Canvas, type Painter } from "@/draw/canvas";
import { isDark } from "@/state/appearance";
import type { Actions } from "./actions";
import { Divider, namesShare, namesStyle } from "./Divider";
import { NameRows } from "./NameRows";
import { BarPainter, type Picture } from "./paintBars";
import { useTimePointer } from "./timePointer";
import { useViewport, type Viewport } from "./viewport";

interface Props {
  readonly act: Actions;
  readonly hits: ReadonlySet<number>;
  readonly selected: number;
}

export function Waterfall({ act, hits, selected }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const viewport = useViewport(scroller);
  const { rowHeight, headHeight } = viewport.value;
  const size = act.rows.length * rowHeight + headHeight;
  useEffect(() => keepInSight(scroller.current, viewport.peek(), selected), [selected, act.rows, rowHeight]);
  return (
    <div class="waterfall" ref={scroller}>
      <div class="waterfall-pane" style={namesStyle(namesShare.value)}>
        <NameRows act={act} hits={hits} selected={selected} viewport={viewport} />
        <Divider />
        <Bars act={act} selected={selected} viewport={viewport} />
      </div>
      <div style={{ height: `calc(${size}px - 100%)` }} />
    </div>
  );
}

/** Scrolls as little as needed; where that is far, to the middle. */
function keepInSight(element: HTMLElement | null, viewport: Viewport, place: number): void {
  if (!element || place < 0) return;
  const { rowHeight, headHeight } = viewport;
  const room = element.clientHeight - headHeight;
  const top = place * rowHeight;
  const under = top + rowHeight * 2 - room;
  const far = top < element.scrollTop - room || under > element.scrollTop + room;
  if (far) element.scrollTop = top - room / 2;
  else if (top - rowHeight < element.scrollTop) element.scrollTop = top - rowHeight;
  else if (under > element.scrollTop) element.scrollTop = under;
  const { top: above } = element.getBoundingClientRect();
  inWindow(above + headHeight + top - element.scrollTop, rowHeight);
}

/** In a low window the page scrolls, too. */
function inWindow(top: number, height: number): void {
  const low = document.documentElement.scrollHeight > window.innerHeight;
  if (low && (top < 0 || top + height > window.innerHeight))
    window.scrollBy(0, top + height / 2 - window.innerHeight / 2);
}

function Bars({ act, selected, viewport }: Omit<Props, "hits"> & { viewport: ReadonlySignal<Viewport> }) {
  const pointer = useTimePointer(act, viewport);
  const latest = useSignal({ act, selected });
  if (latest.peek().act !== act || latest.peek().selected !== selected) latest.value = { act, selected };
  const painter = useMemo(
    () =>
      computed((): Painter => {
        const picture: Picture = {
          model: latest.value.act.model,
          rows: latest.value.act.rows,
          selected: latest.value.selected,
          ...viewport.value,
          dark: isDark.value,
          window: (act.choices.window.value, latest.value.act.window),
          pointer: pointer.at.value,
          chosen: pointer.chosen.value,
        };
        return (context, width, height) => new BarPainter(context, width, height, picture).paint();
      }),
    [pointer],
  );
  return <Painted painter={painter} handlers={pointer.handlers} />;
}

/** Apart, so that what moves the picture draws nothing else anew. */
function Painted({ painter, handlers }: { painter: ReadonlySignal<Painter>; handlers: object }) {
  return <Canvas class="waterfall-bars" aria-hidden="true" data-drawn="bars" paint={painter.value} {...handlers} />;
}
