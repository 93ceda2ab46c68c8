// Loader: pieces of something large, fetched as they come into sight, and kept while there is room.
//
// want() says what is in sight, the most urgent first. What is under way and no longer wanted is given up at once;
// what is new is asked for when the view has rested for a moment, or has moved on for long enough, so that a fling past a
// thousand pieces asks for few of them. A piece that failed is told as `problem`, and asked for again by again();
// by itself, after a while, where the server was only busy or away.
import type { AskError } from "@/api/ask";
import { Lru } from "./lru";

const REST_MILLISECONDS = 40;
const LONGEST_MILLISECONDS = 120;
const AWAY_MILLISECONDS = 1500;

export interface LoaderOptions<Value> {
  readonly load: (key: string, signal: AbortSignal) => Promise<Value>;
  /** So many are kept: more than are ever in sight. */
  readonly most: number;
  /** So many are asked for at a time. */
  readonly atOnce: number;
  /** Something came, or failed. */
  readonly changed: () => void;
}

export class Loader<Value> {
  problem: AskError | undefined;
  private readonly kept: Lru<Value>;
  private readonly underWay = new Map<string, AbortController>();
  private readonly failed = new Set<string>();
  private wanted: readonly string[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private waitingSince = 0;
  private awayTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: LoaderOptions<Value>) {
    this.kept = new Lru(options.most);
  }

  get(key: string): Value | undefined {
    return this.kept.get(key);
  }

  has(key: string): boolean {
    return this.kept.has(key);
  }

  /** Whether something that is in sight is not here yet. */
  get waits(): boolean {
    return this.wanted.some((key) => !this.kept.has(key) && !this.failed.has(key));
  }

  want(keys: readonly string[]): void {
    this.wanted = keys;
    const set = new Set(keys);
    for (const [key, abort] of this.underWay) {
      if (set.has(key)) continue;
      abort.abort();
      this.underWay.delete(key);
    }
    // Looked at in this order, the most urgent goes last when room is needed.
    for (let at = keys.length - 1; at >= 0; --at) this.kept.get(keys[at] ?? "");
    if (this.waits) this.schedule();
  }

  again(): void {
    this.failed.clear();
    this.problem = undefined;
    this.start();
    this.options.changed();
  }

  close(): void {
    clearTimeout(this.timer);
    clearTimeout(this.awayTimer);
    for (const abort of this.underWay.values()) abort.abort();
    this.underWay.clear();
    this.wanted = [];
  }

  private schedule(): void {
    const now = Date.now();
    if (this.timer === undefined) this.waitingSince = now;
    clearTimeout(this.timer);
    const rest = Math.min(REST_MILLISECONDS, Math.max(0, this.waitingSince + LONGEST_MILLISECONDS - now));
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.start();
    }, rest);
  }

  private start(): void {
    for (const key of this.wanted) {
      if (this.underWay.size >= this.options.atOnce) return;
      if (!this.kept.has(key) && !this.underWay.has(key) && !this.failed.has(key)) this.ask(key);
    }
  }

  private ask(key: string): void {
    const abort = new AbortController();
    this.underWay.set(key, abort);
    const done = (finish: () => void) => {
      if (abort.signal.aborted) return;
      this.underWay.delete(key);
      finish();
      this.start();
      this.options.changed();
    };
    this.options.load(key, abort.signal).then(
      (value) => done(() => this.keep(key, value)),
      (error: AskError) => done(() => this.fail(key, error)),
    );
  }

  private keep(key: string, value: Value): void {
    this.kept.set(key, value);
    if (this.failed.size === 0) this.problem = undefined;
  }

  private fail(key: string, error: AskError): void {
    this.failed.add(key);
    this.problem = error;
    if (!error.away) return;
    clearTimeout(this.awayTimer);
    this.awayTimer = setTimeout(() => this.again(), AWAY_MILLISECONDS);
  }
}
