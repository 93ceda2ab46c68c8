// The names of the spans in sight, as a tree that is worked by the keyboard through its selected row.
import type { ReadonlySignal } from "@preact/signals";
import { Name } from "@/parts/Name";
import { isDark } from "@/state/appearance";
import { formatDuration } from "@/time/nano";
import type { Actions } from "./actions";
import { percent, shareOf } from "./contributions";
import { nameOf, rowSums, type TraceModel } from "./model";
import { rowKey, type Row } from "./rows";
import { nodeAt } from "./tree";
import type { Viewport } from "./viewport";

interface Props {
  readonly act: Actions;
  readonly hits: ReadonlySet<number>;
  readonly selected: number;
  readonly viewport: ReadonlySignal<Viewport>;
}

const DEEPEST_INDENT = 24;

export function NameRows({ act, hits, selected, viewport }: Props) {
  const { scrollTop, height, rowHeight, headHeight } = viewport.value;
  const first = Math.floor(scrollTop / rowHeight);
  // Before anything is measured the height is 0, and no row is in sight.
  const inRoom = Math.ceil((scrollTop + height - headHeight) / rowHeight);
  const last = Math.max(first, Math.min(act.rows.length, inRoom));
  const inSight = selected >= first && selected < last;
  const rowAt = (event: MouseEvent) => placeOfEvent(event);
  return (
    <div class="waterfall-names">
      <div class="names-head" style={{ height: `${headHeight}px` }}>
        <span>Span</span>
        <span class="adds">Adds to path</span>
      </div>
      <div
        class="names-window"
        role="tree"
        tabIndex={0}
        aria-label="Spans of the trace"
        aria-activedescendant={inSight ? `row-${selected}` : undefined}
        style={{ top: `${headHeight}px` }}
        onClick={(event) => clicked(act, event)}
        onDblClick={(event) => act.toggle(rowAt(event))}
      >
        <div role="none" style={{ transform: `translateY(${first * rowHeight - scrollTop}px)` }}>
          {act.rows.slice(first, last).map((row, offset) => (
            <NameRow
              key={rowKey(act.model.tree, row)}
              {...{ row, place: first + offset, height: rowHeight, model: act.model }}
              selected={first + offset === selected}
              hit={!row.run && hits.has(row.node)}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

function placeOfEvent(event: Event): number {
  const row = event.target instanceof Element ? event.target.closest("[data-place]") : null;
  return Number(row?.getAttribute("data-place") ?? "-1");
}

function clicked(act: Actions, event: MouseEvent): void {
  const place = placeOfEvent(event);
  if (place < 0) return;
  if (event.target instanceof Element && event.target.closest(".fold")) act.toggle(place);
  else act.selectRow(place);
}

interface RowProps {
  readonly row: Row;
  readonly place: number;
  readonly height: number;
  readonly model: TraceModel;
  readonly selected: boolean;
  readonly hit: boolean;
}

function NameRow({ row, place, height, model, selected, hit }: RowProps) {
  const { errors, ownNano } = rowSums(model, row);
  const indent = Math.min(row.depth, DEEPEST_INDENT);
  const classes = ["name-row", selected && "selected", hit && "hit", errors > 0 && "error", ownNano > 0 && "on-path"];
  return (
    <div
      role="treeitem"
      id={`row-${place}`}
      data-place={place}
      class={classes.filter(Boolean).join(" ")}
      aria-level={row.depth + 1}
      aria-selected={selected}
      aria-expanded={row.open}
      style={{ height: `${height}px`, paddingLeft: `${0.4 + indent * 0.9}rem` }}
    >
      <span class="fold" aria-hidden="true">
        {row.open === undefined ? "" : row.open ? "▾" : "▸"}
      </span>
      <RowName row={row} model={model} errors={errors} />
      <Adds ownNano={ownNano} share={shareOf(model.path, ownNano)} />
    </div>
  );
}

function RowName({ row, model, errors }: { row: Row; model: TraceModel; errors: number }) {
  const node = nodeAt(model.tree, row.node);
  const { span } = node;
  if (!span)
    return (
      <span class="what missing">
        parent <span class="mono">{node.spanId}</span> is not stored
      </span>
    );
  const below = row.open === false && !row.run ? node.after - node.index - 1 : 0;
  return (
    <>
      <i class="chip" style={{ background: model.colors(span.service, isDark.value) }} />
      <span class="what" title={`${span.service} ${nameOf(span)}`}>
        {row.run && <b class="times">× {row.run.length}</b>} <Name text={nameOf(span)} />{" "}
        <span class="faint">{span.service}</span>
      </span>
      {below > 0 && <span class="tag">+{below}</span>}
      {span.conflicting && <span class="tag warn">conflict</span>}
      {node.cutFromCycle && <span class="tag warn">cycle</span>}
      {errors > 0 && <span class="tag bad">{row.run || below > 0 ? `${errors} ✕` : "error"}</span>}
    </>
  );
}

function Adds({ ownNano, share }: { ownNano: number; share: number }) {
  if (ownNano <= 0) return <span class="adds" />;
  return (
    <span class="adds">
      <i class="adds-bar" style={{ width: `${Math.max(2, share * 100)}%` }} />
      <span class="adds-text">
        {formatDuration(ownNano)} <b>{percent(share)}</b>
      </span>
    </span>
  );
}
