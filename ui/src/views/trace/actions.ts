// What a reader can do in the waterfall, as changes of the choices; keys, pointers and buttons all come here.
import type { Choices } from "./choices";
import { firstWindow } from "./fitting";
import { lookUp, type Found, type TraceModel } from "./model";
import { deepest, flip, placeOfNode, reveal, rowKey, type Folding, type Row } from "./rows";
import { stepThrough, stepThroughHits } from "./search";
import { around, panned, wholeWindow, within, zoomed, type TimeWindow } from "./timeWindow";
import { nodeAt } from "./tree";

export class Actions {
  constructor(
    readonly model: TraceModel,
    readonly rows: readonly Row[],
    readonly choices: Choices,
  ) {}

  get found(): Found | undefined {
    return lookUp(this.model.tree, this.choices.words.peek().span);
  }

  /** Where the selected row is; -1: nowhere. */
  get place(): number {
    const { found } = this;
    return found ? placeOf(this.rows, found) : -1;
  }

  /** Makes a span the selected one, opens what hides it, and brings it into the window of time. */
  select(node: number): void {
    const { folding } = this.choices.words.peek();
    const { key } = nodeAt(this.model.tree, node);
    this.choices.change({ span: key, folding: reveal(this.model.tree, folding, node), ...this.#shown(node) });
  }

  selectRow(place: number): void {
    const row = this.rows[Math.min(Math.max(place, 0), this.rows.length - 1)];
    if (row) this.choices.change({ span: rowKey(this.model.tree, row), ...this.#shown(row.node) });
  }

  selectNothing(): void {
    this.choices.change({ span: "" });
  }

  move(by: number): void {
    const { place } = this;
    this.selectRow(place < 0 ? (by > 0 ? 0 : this.rows.length - 1) : place + by);
  }

  /** The next of some nodes, round the end. */
  step(among: readonly number[], forward: boolean): void {
    const to = stepThrough(among, this.found?.node ?? (forward ? -1 : Infinity), forward);
    if (to !== undefined) this.select(to);
  }

  /** Along the path, by time, since that is how it is read. */
  stepOnPath(forward: boolean): void {
    const { pieces } = this.model.path;
    const order = [...new Set(pieces.map((piece) => piece.node))];
    const at = order.indexOf(this.found?.node ?? -1);
    const to = order[(at + (forward ? 1 : at < 0 ? 0 : -1) + order.length) % order.length];
    if (to !== undefined) this.select(to);
  }

  stepToHit(forward: boolean): void {
    const hits = this.model.search.find(this.choices.words.peek().find);
    const to = stepThroughHits(hits, this.found?.node ?? (forward ? -1 : Infinity), forward);
    if (to !== undefined) this.select(to);
  }

  toggle(place: number): void {
    const row = this.rows[place];
    if (row?.open !== undefined) this.#fold(flip(this.#folding, rowKey(this.model.tree, row)));
  }

  /** Closes the row, or goes to the one above it. */
  closeOrUp(): void {
    const row = this.rows[this.place];
    if (row?.open) this.toggle(this.place);
    else if (row) this.selectRow(this.#above(this.place));
  }

  openOrDown(): void {
    const row = this.rows[this.place];
    if (row?.open === false) this.toggle(this.place);
    else if (row?.open) this.move(1);
  }

  /** All of a level: so many levels are open. */
  levels(by: number): void {
    const most = deepest(this.model.tree);
    const depth = Math.min(Math.max((this.#folding.depth ?? most) + by, 0), most);
    this.#fold({ ...this.#folding, depth: depth >= most ? undefined : depth, flipped: new Set() });
  }

  openAll(): void {
    this.#fold({ depth: undefined, runsOpen: true, flipped: new Set() });
  }

  toggleRuns(): void {
    const flipped = [...this.#folding.flipped].filter((key) => !key.startsWith("x"));
    this.#fold({ ...this.#folding, runsOpen: !this.#folding.runsOpen, flipped: new Set(flipped) });
  }

  get window(): TimeWindow {
    return this.choices.window.peek() ?? firstWindow(this.model);
  }

  zoom(factor: number, share = 0.5): void {
    this.show(zoomed(this.window, factor, share, this.model.tree.durationNano));
  }

  pan(share: number): void {
    this.show(panned(this.window, share, this.model.tree.durationNano));
  }

  show(window: TimeWindow): void {
    const { durationNano } = this.model.tree;
    const shown = within(window, durationNano);
    const first = firstWindow(this.model);
    const asFirst = shown.fromNano === first.fromNano && shown.toNano === first.toNano;
    this.choices.change({ window: asFirst ? undefined : shown });
  }

  showAll(): void {
    this.show(wholeWindow(this.model.tree.durationNano));
  }

  showSelected(): void {
    const { found } = this;
    if (!found) return;
    const { tree } = this.model;
    const last = nodeAt(tree, found.run?.at(-1) ?? found.node);
    const first = nodeAt(tree, found.node);
    this.show(around(first.startNano, Math.max(first.endNano, last.endNano), tree.durationNano));
  }

  toggleFollow(): void {
    this.choices.change({ follow: !this.choices.words.value.follow });
  }

  toggleClock(): void {
    this.choices.change({ clock: this.choices.words.peek().clock === "sent" ? "corrected" : "sent" });
  }

  get #folding(): Folding {
    return this.choices.words.peek().folding;
  }

  /** What gets out of sight is not selected any longer: what hides it is. */
  #fold(folding: Folding): void {
    this.choices.change({ folding });
  }

  #above(place: number): number {
    const depth = this.rows[place]?.depth ?? 0;
    let at = place;
    while (at > 0 && (this.rows[at]?.depth ?? 0) >= depth) --at;
    return at;
  }

  /** The window moved so that a span outside of it is inside. */
  #shown(node: number): { window?: TimeWindow } {
    const { window } = this;
    const { startNano, endNano } = nodeAt(this.model.tree, node);
    if (startNano < window.toNano && endNano > window.fromNano) return {};
    const middle = (startNano + endNano) / 2;
    const half = (window.toNano - window.fromNano) / 2;
    return { window: within({ fromNano: middle - half, toNano: middle + half }, this.model.tree.durationNano) };
  }
}

/** The row of what is selected; where it is hidden, of what hides it. */
export function placeOf(rows: readonly Row[], { node, run }: Found): number {
  const place = placeOfNode(rows, node);
  const before = rows[place - 1];
  return run && !rows[place]?.run && before?.run && before.node === node ? place - 1 : place;
}
