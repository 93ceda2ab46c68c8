// The instruction list: as many rows as are in sight are elements, whatever there are.
import type { RefObject } from "preact";
import { useEffect, useImperativeHandle, useMemo, useRef, useState } from "preact/hooks";
import type { Flow, ListHandle } from "./flow";
import { ListRow } from "./ListRow";
import {
  areaHeight,
  clampTop,
  isInSight,
  positionOf,
  revealing,
  rowsInSight,
  topAfter,
  type ListSize,
} from "./row_scroll";
import { pageKey, rowIn, wantedPages } from "./rows";

const REST_MILLISECONDS = 150;
/** No screen is higher; a layout that is would make elements of all rows. */
const MOST_HEIGHT = 8000;

interface Props {
  readonly flow: Flow;
  readonly handle: ListHandle;
  readonly seen: (first: number, end: number) => void;
}

export function List({ flow, handle, seen }: Props) {
  const { thread, pieces, selection } = flow;
  const pane = useRef<HTMLDivElement>(null);
  const { size, top, scrollTo } = useListScroll(pane, thread.rows);
  const { first, end } = rowsInSight(size, top);
  useImperativeHandle(
    handle,
    () => ({ pageRows: () => Math.max(1, Math.floor(size.height / size.rowHeight) - 1), firstRow: () => first }),
    [size, first],
  );
  useEffect(() => {
    if (selection && size.height > 0) scrollTo(revealing(size, top, selection.row));
  }, [flow.revealed, size.height > 0]);
  const before = useRef(size);
  useEffect(() => {
    // The source of what is selected takes room from below: a row that was in sight stays there.
    if (selection && isInSight(before.current, top, selection.row)) scrollTo(revealing(size, top, selection.row));
    before.current = size;
  }, [size]);
  useEffect(() => seen(first, end), [first, end]);
  const selected = selection && selection.row >= first && selection.row < end ? [pageKey(selection.row)] : [];
  if (size.height > 0) pieces.pages.want([...new Set([...selected, ...wantedPages(first, end, thread.rows)])]);
  const rows = useRows(flow, size, first, end);
  return (
    <div
      class="flow-list"
      ref={pane}
      tabIndex={0}
      role="listbox"
      aria-label={`Instructions, ${thread.rows.toLocaleString("en")} rows`}
      aria-activedescendant={selected.length > 0 ? `flow-row-${selection?.row}` : undefined}
    >
      <div style={{ height: `${areaHeight(size)}px` }} role="presentation">
        <div class="flow-window" style={{ height: `${size.height}px` }} role="presentation">
          <div role="presentation" style={{ transform: `translateY(${baseOf(first) * size.rowHeight - top}px)` }}>
            {rows}
          </div>
        </div>
      </div>
    </div>
  );
}

// Rows lie below one that changes rarely, so that scrolling by less than a row moves one element and draws no row anew.
const BASE_ROWS = 1024;

function baseOf(first: number): number {
  return Math.floor(first / BASE_ROWS) * BASE_ROWS;
}

/** Elements are used again for the rows that come into sight: making new ones costs more. */
function useRows(
  { thread, pieces, selection, select, unit, extent }: Flow,
  size: ListSize,
  first: number,
  end: number,
) {
  const slots = Math.ceil(size.height / size.rowHeight) + 2;
  return useMemo(
    () =>
      Array.from({ length: Math.max(0, end - first) }, (_, at) => {
        const row = first + at;
        return (
          <ListRow
            key={row % slots}
            row={row}
            shown={rowIn((key) => pieces.pages.get(key), row)}
            first={row === first}
            top={(row - baseOf(first)) * size.rowHeight}
            selected={row === selection?.row}
            total={thread.rows}
            unit={unit}
            largest={extent.end}
            choose={() => select({ row }, "list")}
          />
        );
      }),
    [first, end, size, selection?.row, pieces.pages, pieces.pagesVersion, thread, unit],
  );
}

// The place in the list is `top`; the element's own scroll position follows it, and leads where the bar is dragged.
function useListScroll(pane: RefObject<HTMLDivElement | null>, rows: number) {
  const [size, setSize] = useState<ListSize>({ rows, rowHeight: 20, height: 0 });
  const [top, setTop] = useState(0);
  const now = useRef({ size, top, position: 0, rest: 0 });
  now.current.size = size;

  const scrollTo = (next: number) => {
    const own = now.current;
    own.top = clampTop(own.size, next);
    setTop(own.top);
    if (!pane.current) return;
    pane.current.scrollTop = positionOf(own.size, own.top);
    own.position = pane.current.scrollTop;
  };
  useEffect(() => {
    const element = pane.current;
    if (!element) return undefined;
    const measure = () => {
      const letters = parseFloat(getComputedStyle(element).fontSize) || 13;
      setSize({ rows, rowHeight: Math.round(letters * 1.55), height: Math.min(element.clientHeight, MOST_HEIGHT) });
    };
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    const onScroll = () => {
      const own = now.current;
      const position = element.scrollTop;
      if (Math.abs(position - own.position) < 1) return;
      own.top = topAfter(own.size, own.top, own.position, position);
      own.position = position;
      setTop(own.top);
      // A finger scrolls by pixels of the area; when it rests, the bar goes to where the list is.
      window.clearTimeout(own.rest);
      own.rest = window.setTimeout(() => scrollTo(own.top), REST_MILLISECONDS);
    };
    const onWheel = (event: WheelEvent) => {
      if (event.ctrlKey || event.shiftKey || event.deltaY === 0) return;
      const own = now.current;
      const factor = event.deltaMode === 1 ? own.size.rowHeight : event.deltaMode === 2 ? own.size.height : 1;
      scrollTo(own.top + event.deltaY * factor);
      event.preventDefault();
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      sizes.disconnect();
      window.clearTimeout(now.current.rest);
      element.removeEventListener("scroll", onScroll);
      element.removeEventListener("wheel", onWheel);
    };
  }, [rows]);
  return { size, top, scrollTo };
}
