// What a reader chose, as words of the address: read(write(x)) is x.
import type { ClockChoice } from "./instants";
import type { Folding } from "./rows";
import type { TimeWindow } from "./timeWindow";

export interface Words {
  /** Of a span, by its key; "" for none. */
  readonly span: string;
  /** Undefined: all of the trace. */
  readonly window: TimeWindow | undefined;
  readonly clock: ClockChoice;
  readonly folding: Folding;
  readonly find: string;
  /** Asked again every two seconds. */
  readonly follow: boolean;
}

type Query = Readonly<Record<string, string>>;

export function readWords(query: Query): Words {
  const depth = Number.parseInt(query["depth"] ?? "", 10);
  return {
    span: query["span"] ?? "",
    window: readWindow(query["at"] ?? ""),
    clock: query["time"] === "sent" ? "sent" : "corrected",
    folding: {
      depth: depth >= 0 ? depth : undefined,
      runsOpen: query["runs"] === "open",
      flipped: new Set((query["flip"] ?? "").split(",").filter(Boolean)),
    },
    find: query["find"] ?? "",
    follow: query["follow"] === "true",
  };
}

export function writeWords({ span, window, clock, folding, find, follow }: Words): Record<string, string | undefined> {
  return {
    span,
    at: window && `${Math.round(window.fromNano)}-${Math.round(window.toNano)}`,
    time: clock === "sent" ? "sent" : undefined,
    depth: folding.depth?.toString(),
    runs: folding.runsOpen ? "open" : undefined,
    flip: [...folding.flipped].join(","),
    find,
    follow: follow ? "true" : undefined,
  };
}

function readWindow(text: string): TimeWindow | undefined {
  const [fromNano = NaN, toNano = NaN] = text.split("-").map(Number);
  return fromNano >= 0 && toNano > fromNano ? { fromNano, toNano } : undefined;
}
