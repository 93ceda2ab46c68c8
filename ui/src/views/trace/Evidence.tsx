// What fathom kept besides the spans: captures of threads and snapshots of instructions. Nobody else has them, and they
// are where the answer is when spans do not say it, so they are offered before all else.
import type { TraceAnswer, TraceCapture, TraceSnapshot } from "@/api/generated/answers";
import { HeldLockLine } from "@/parts/HeldLockLine";
import { heldPlace, type HeldLock } from "@/parts/held_lock";
import { formatPlace } from "@/state/place";
import { formatDuration } from "@/time/nano";
import type { Nearby } from "./nearby";

export interface Found {
  readonly captures: readonly TraceCapture[];
  readonly snapshots: readonly TraceSnapshot[];
}

/** Of the whole trace, or of those that one of its spans was the reason of. */
export function evidenceOf(answer: TraceAnswer, span?: string): Found {
  const { captures, snapshots = [] } = answer;
  if (span === undefined) return { captures, snapshots };
  const ofSpan = (one: { readonly span_id: string }) => one.span_id === span;
  return { captures: captures.filter(ofSpan), snapshots: snapshots.filter(ofSpan) };
}

/** The lock that it waited for, as the snapshot `id` knows it. */
export interface Held {
  readonly id: string;
  readonly lock: HeldLock;
  /** It was recorded for another request. */
  readonly of?: Nearby;
}

function ofAnother({ same, laterNano }: Nearby): string {
  const when = `${formatDuration(Math.abs(laterNano))} ${laterNano < 0 ? "earlier" : "later"}`;
  return `Another request of the same ${same} was recorded ${when}: `;
}

/** The newest snapshot that tells of a lock. */
export function lockedOf({ snapshots = [] }: TraceAnswer): TraceSnapshot | undefined {
  return snapshots.find((one) => one.lock_holder !== undefined);
}

const TRIGGERS: Readonly<Record<string, string>> = {
  overdue: "was overdue",
  slow: "was slow",
  error: "failed",
  requested: "somebody asked",
  program: "the program asked",
  crash: "crashed",
  remote: "another process asked",
};

const MOST_SHOWN = 6;

interface Props {
  readonly trace: TraceAnswer;
  readonly found: Found;
  readonly span?: string;
  readonly held?: Held | undefined;
}

export function Evidence({ trace, found, span, held }: Props) {
  const { captures, snapshots } = found;
  // A capture of the trace has all its processes' threads, also those of spans that it was not made for.
  const timeline = span === undefined ? captures.length > 0 : trace.captures.length > 0;
  if (!timeline && snapshots.length === 0 && !held) return null;
  return (
    <nav class="evidence" aria-label={span === undefined ? "What else was kept" : "What else was kept of this span"}>
      {held && <HeldLockLine id={held.id} lock={held.lock} shortcut="i" before={held.of && ofAnother(held.of)} />}
      {timeline && (
        <a
          class="evidence-main"
          href={formatPlace({ view: "timeline", id: trace.trace_id, query: span === undefined ? {} : { span } })}
        >
          {span === undefined ? "What the threads did" : "What its thread did meanwhile"}
        </a>
      )}
      {snapshots.map((snapshot) => (
        <SnapshotLink key={snapshot.id} snapshot={snapshot} held={held} />
      ))}
      {captures.slice(0, MOST_SHOWN).map((capture) => (
        <CaptureLink key={capture.id} capture={capture} />
      ))}
      {captures.length > MOST_SHOWN && (
        <a href={formatPlace({ view: "captures", query: { trace_id: trace.trace_id } })}>
          and {captures.length - MOST_SHOWN} more captures
        </a>
      )}
    </nav>
  );
}

function CaptureLink({ capture }: { capture: TraceCapture }) {
  const lasted = Number(BigInt(capture.end_time_unix_nano) - BigInt(capture.start_time_unix_nano));
  return (
    <a href={formatPlace({ view: "capture", id: capture.id, query: {} })}>
      <span class="faint">Capture</span> {capture.service} <span class="faint">on {capture.host_name}</span>{" "}
      {TRIGGERS[capture.trigger] ?? capture.trigger} <span class="faint">{formatDuration(lasted)}</span>
      {(capture.damaged || capture.truncated) && <span class="tag warn">{capture.damaged ? "damaged" : "cut"}</span>}
    </a>
  );
}

/** Who waits runs nothing: what the holder of the lock did is worth looking at. */
function SnapshotLink({ snapshot: { id, tid, host }, held }: { snapshot: TraceSnapshot; held: Held | undefined }) {
  const place = held?.id === id ? heldPlace(id, held.lock) : ({ view: "snapshot", id, query: {} } as const);
  return (
    <a class="evidence-main" href={formatPlace(place)}>
      Its instructions{" "}
      <span class="detail">
        thread {tid} on {host}
      </span>
    </a>
  );
}
