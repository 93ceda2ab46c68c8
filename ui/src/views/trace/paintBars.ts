// The picture of the waterfall's time: an axis, and for each visible row its bar, its errors and events, and what of the
// critical path is its own.
import { themeColor } from "@/draw/canvas";
import { formatDuration } from "@/time/nano";
import type { PathPiece } from "./criticalPath";
import type { TraceModel } from "./model";
import { placeOfNode, type Row } from "./rows";
import { lengthOf, ticksOf, timeWidth, type TimeWindow } from "./timeWindow";
import { durationOf, isError, nodeAt, type SpanNode } from "./tree";

export interface Picture {
  readonly model: TraceModel;
  readonly rows: readonly Row[];
  readonly window: TimeWindow;
  readonly scrollTop: number;
  readonly rowHeight: number;
  readonly headHeight: number;
  readonly fontPixels: number;
  readonly selected: number;
  readonly dark: boolean;
  /** Where the pointer is, in pixels from the left; a stretch of the axis that is being chosen. */
  readonly pointer: number | undefined;
  readonly chosen: readonly [number, number] | undefined;
}

const COLORS = ["ground", "panel", "line", "text", "faint", "accent", "accent-ground", "bad", "critical"] as const;
type Colors = Readonly<Record<(typeof COLORS)[number], string>>;

/** Where the path goes to and fro many times, more lines than this would hide what is between them. */
const JOIN_PIXELS = 12;
const RUN_JOIN_PIXELS = 60;

export class BarPainter {
  readonly #colors: Colors;
  readonly #services = new Map<string, string>();
  readonly #timeWidth: number;

  constructor(
    readonly context: CanvasRenderingContext2D,
    readonly width: number,
    readonly height: number,
    readonly picture: Picture,
  ) {
    this.#colors = Object.fromEntries(COLORS.map((name) => [name, themeColor(name)])) as Colors;
    this.#timeWidth = timeWidth(width, picture.fontPixels);
    context.font = `${picture.fontPixels}px system-ui, "DejaVu Sans", sans-serif`;
    context.textBaseline = "middle";
  }

  paint(): void {
    const { rowHeight, headHeight, scrollTop, rows } = this.picture;
    const first = Math.floor(scrollTop / rowHeight);
    const last = Math.min(rows.length, Math.ceil((scrollTop + this.height - headHeight) / rowHeight));
    const top = (place: number) => headHeight + place * rowHeight - scrollTop;
    this.#grid();
    for (let place = first; place < last; ++place) this.#row(place, top(place));
    this.#path(first, last, top);
    this.#head();
    this.#pointer();
  }

  #x(nano: number): number {
    const { window } = this.picture;
    return ((nano - window.fromNano) / lengthOf(window)) * this.#timeWidth;
  }

  #ticks() {
    return ticksOf(this.picture.window, Math.max(2, Math.floor(this.width / (this.picture.fontPixels * 9))));
  }

  #grid(): void {
    this.context.fillStyle = this.#colors.line;
    this.context.globalAlpha = 0.5;
    for (const { atNano } of this.#ticks()) this.context.fillRect(Math.round(this.#x(atNano)), 0, 1, this.height);
    this.context.globalAlpha = 1;
  }

  #head(): void {
    const { context } = this;
    const { headHeight, fontPixels, chosen } = this.picture;
    context.fillStyle = this.#colors.panel;
    context.fillRect(0, 0, this.width, headHeight);
    if (chosen) this.#fill(this.#colors["accent-ground"], chosen[0], 0, chosen[1] - chosen[0], headHeight);
    context.fillStyle = this.#colors.faint;
    for (const { atNano, label } of this.#ticks()) {
      const x = this.#x(atNano);
      const room = context.measureText(label).width;
      if (x + room + 4 < this.width) context.fillText(label, x + 4, headHeight - fontPixels * 0.75);
      context.fillRect(Math.round(x), headHeight - fontPixels * 0.6, 1, fontPixels * 0.6);
    }
    this.#fill(this.#colors.line, 0, headHeight - 1, this.width, 1);
  }

  #fill(color: string, x: number, y: number, width: number, height: number): void {
    this.context.fillStyle = color;
    this.context.fillRect(x, y, width, height);
  }

  #row(place: number, y: number): void {
    const { rows, rowHeight, selected, model } = this.picture;
    const row = rows[place];
    if (!row) return;
    if (place === selected) this.#fill(this.#colors["accent-ground"], 0, y, this.width, rowHeight);
    const bar = { y: y + Math.round(rowHeight * 0.22), height: Math.round(rowHeight * 0.5) };
    const members = (row.run ?? [row.node]).map((index) => nodeAt(model.tree, index));
    this.#bars(members, bar);
    if (members[0] && !row.run) this.#marks(members[0], bar);
    this.#label(members, y);
  }

  /** Of many that share a pixel one is drawn. */
  #bars(members: readonly SpanNode[], { y, height }: { y: number; height: number }): void {
    const { context } = this;
    let drawnTo = -1;
    for (const node of members) {
      const from = Math.max(this.#x(node.startNano), -2);
      const to = Math.min(Math.max(this.#x(node.endNano), from + 2), this.width + 2);
      if (to < 0 || from > this.width || to <= drawnTo) continue;
      drawnTo = to;
      context.globalAlpha = this.#isOnPath(node) ? 1 : 0.55;
      if (!node.span) this.#dashed(from, y, to - from, height);
      else this.#fill(this.#serviceColor(node.span.service), from, y, to - from, height);
      context.globalAlpha = 1;
      if (isError(node)) this.#fill(this.#colors.bad, from, y - 2, Math.max(to - from, 3), 2);
    }
  }

  #isOnPath(node: SpanNode): boolean {
    const { ownBefore } = this.picture.model;
    return (ownBefore[node.after] ?? 0) > (ownBefore[node.index] ?? 0);
  }

  #serviceColor(service: string): string {
    const known = this.#services.get(service);
    if (known) return known;
    const color = this.picture.model.colors(service, this.picture.dark);
    this.#services.set(service, color);
    return color;
  }

  #dashed(x: number, y: number, width: number, height: number): void {
    this.context.strokeStyle = this.#colors.faint;
    this.context.setLineDash([4, 3]);
    this.context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    this.context.setLineDash([]);
  }

  /** Pieces are by time; moved spans' may be a little out of order, which the margin bears. */
  #firstPiece(): number {
    const { pieces } = this.picture.model.path;
    let [low, high] = [0, pieces.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pieces[middle]?.endNano ?? 0) < this.picture.window.fromNano) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  /** Events, as far as pixels tell them apart. */
  #marks(node: SpanNode, { y, height }: { y: number; height: number }): void {
    const { span } = node;
    if (!span || span.events.length === 0) return;
    const sent = BigInt(span.start_time_unix_nano);
    let before = -Infinity;
    for (const event of span.events) {
      const x = this.#x(node.startNano + Number(BigInt(event.time_unix_nano) - sent));
      if (x - before < 2 || x < 0 || x > this.width) continue;
      before = x;
      this.#fill(event.name === "exception" ? this.#colors.bad : this.#colors.text, x - 1, y, 2, height);
    }
  }

  /** How long it lasted, where there is room: behind the bar, before it, or in sight at the edge. */
  #label(members: readonly SpanNode[], y: number): void {
    const { context } = this;
    const { rowHeight } = this.picture;
    const [first, last] = [members[0], members.at(-1)];
    if (!first || !last) return;
    const sum = members.reduce((nano, node) => nano + durationOf(node), 0);
    const text =
      members.length > 1 ? `${members.length} × ${formatDuration(sum / members.length)}` : formatDuration(sum);
    const room = context.measureText(text).width;
    const from = this.#x(first.startNano);
    const to = this.#x(Math.max(last.endNano, first.endNano));
    context.fillStyle = to < 0 || from > this.width ? this.#colors.faint : this.#colors.text;
    const middle = y + rowHeight * 0.48;
    if (to < 0) context.fillText(`‹ ${text}`, 4, middle);
    else if (from > this.width)
      context.fillText(`${text} ›`, this.width - context.measureText(`${text} ›`).width - 4, middle);
    else if (to + room + 8 < this.width) context.fillText(text, Math.max(to, 2) + 6, middle);
    else if (from - room - 8 > 0) context.fillText(text, from - room - 6, middle);
    else this.#boxed(text, room, middle);
  }

  #boxed(text: string, room: number, middle: number): void {
    const { fontPixels } = this.picture;
    const x = this.width - room - 8;
    this.context.globalAlpha = 0.85;
    this.#fill(this.#colors.ground, x - 4, middle - fontPixels * 0.65, room + 12, fontPixels * 1.3);
    this.context.globalAlpha = 1;
    this.context.fillStyle = this.#colors.text;
    this.context.fillText(text, x, middle);
  }

  /** The critical path: below each bar what of it is the row's, and thin lines from row to row, so that it is one. */
  #path(first: number, last: number, top: (place: number) => number): void {
    const { model, rows, rowHeight, window } = this.picture;
    const shown = rows.slice(first, last);
    const y = (place: number) => Math.round(top(first + place) + rowHeight * 0.72);
    const drawnTo = new Float64Array(shown.length).fill(-Infinity);
    let before = { place: -1, endNano: NaN };
    let joinedTo = -Infinity;
    for (let at = this.#firstPiece(); at < model.path.pieces.length; ++at) {
      const piece = model.path.pieces[at];
      if (!piece || piece.startNano > window.toNano) break;
      const place = this.#shownPlace(shown, piece.node);
      const joins = before.endNano === piece.startNano && before.place >= 0 && place >= 0 && before.place !== place;
      const x = this.#x(piece.startNano);
      const ofRun = shown[place]?.run ?? shown[before.place]?.run;
      if (joins && x - joinedTo >= (ofRun ? RUN_JOIN_PIXELS : JOIN_PIXELS)) {
        this.#join(x, y(before.place), y(place));
        joinedTo = x;
      }
      if (place >= 0) this.#own(piece, drawnTo, place, y(place));
      before = { place, endNano: piece.endNano };
    }
  }

  /** Of the rows in sight the one that has a node; -1: none. */
  #shownPlace(shown: readonly Row[], node: number): number {
    const last = shown.at(-1);
    if (!last || node < (shown[0]?.node ?? 0)) return -1;
    const { tree } = this.picture.model;
    const behind =
      last.open || last.open === undefined ? last.node : nodeAt(tree, last.run?.at(-1) ?? last.node).after - 1;
    return node > behind ? -1 : placeOfNode(shown, node);
  }

  #own(piece: PathPiece, drawnTo: Float64Array, place: number, y: number): void {
    const from = this.#x(piece.startNano);
    const to = Math.max(this.#x(piece.endNano), from + 1);
    if (to <= (drawnTo[place] ?? 0)) return;
    drawnTo[place] = to;
    this.#fill(this.#colors.critical, from, y, to - from, Math.max(3, Math.round(this.picture.rowHeight * 0.13)));
  }

  #join(x: number, from: number, to: number): void {
    this.context.globalAlpha = 0.6;
    this.#fill(this.#colors.critical, Math.round(x), Math.min(from, to), 1, Math.abs(to - from));
    this.context.globalAlpha = 1;
  }

  #pointer(): void {
    const { pointer, window, fontPixels } = this.picture;
    if (pointer === undefined) return;
    this.#fill(this.#colors.accent, Math.round(pointer), 0, 1, this.height);
    const text = `+${formatDuration(window.fromNano + (pointer / this.#timeWidth) * lengthOf(window))}`;
    const room = this.context.measureText(text).width + 8;
    const x = Math.min(pointer, this.width - room);
    this.#fill(this.#colors.accent, x, 0, room, fontPixels * 1.3);
    this.context.fillStyle = this.#colors.ground;
    this.context.fillText(text, x + 4, fontPixels * 0.68);
  }
}
