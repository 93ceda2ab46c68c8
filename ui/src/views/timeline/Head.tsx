// What the timeline is of, what can be done with it, and what is missing.
import { Download } from "@/parts/Download";
import { formatDuration, formatInstant } from "@/time/nano";
import { go } from "@/state/navigation";
import { formatPlace, withQuery, type Place } from "@/state/place";
import { moreItems, perfettoAddress } from "./address";
import type { Model } from "./model";
import { noCaptures } from "./no_captures";

export function Head({ place, model }: { place: Place; model: Model | undefined }) {
  const all = place.query["all"] === "1";
  return (
    <header class="timeline-head">
      <h1>
        {place.view === "capture" ? "Capture" : "Timeline"} <span class="mono">{place.id?.slice(0, 8)}</span>
      </h1>
      <p class="timeline-what">{model ? <What model={model} place={place} /> : " "}</p>
      <div class="timeline-actions">
        <button
          aria-pressed={all}
          onClick={() => go(withQuery(place, { all: all ? undefined : "1" }), "replace")}
          title="Other threads of these processes, events of other requests, all of the windows (t)"
        >
          All threads
        </button>
        <Download button address={perfettoAddress(place)} name={`${place.id ?? "timeline"}.perfetto-trace`}>
          For Perfetto
        </Download>
      </div>
      {model && <Notices place={place} model={model} />}
    </header>
  );
}

function What({ model, place }: { model: Model; place: Place }) {
  const { answer, start } = model;
  const trace = answer.trace_id;
  return (
    <>
      {trace && <a href={formatPlace({ view: "trace", id: trace, query: {} })}>Trace {trace.slice(0, 8)}</a>}
      {trace && place.view === "capture" && (
        <a href={formatPlace({ view: "timeline", id: trace, query: {} })}>All captures of the trace</a>
      )}
      <span>{formatDuration(answer.duration_nano)}</span>
      <span class="faint">from {formatInstant(start, 6)}</span>
      {(answer.snapshots ?? []).map((snapshot) => (
        <a key={snapshot.id} href={formatPlace({ view: "snapshot", id: snapshot.id, query: {} })}>
          Snapshot {snapshot.id.slice(0, 8)}
        </a>
      ))}
    </>
  );
}

function Notices({ place, model }: { place: Place; model: Model }) {
  const { answer } = model;
  const limit = place.query["limit"];
  const canAskMore = moreItems(limit) !== limit;
  const reasons = noCaptures(answer.processes);
  return (
    <>
      {answer.truncated && (
        <p class="notice">
          {answer.left_out.toLocaleString("en")} items are beyond the limit; where they are is hatched.{" "}
          {canAskMore && (
            <button onClick={() => go(withQuery(place, { limit: moreItems(limit) }), "replace")}>Ask for more</button>
          )}
        </p>
      )}
      {!answer.complete && answer.trace_id && (
        <p class="notice">A parent of these spans is missing: the trace is not complete (yet).</p>
      )}
      {answer.captures.length === 0 && reasons.length === 0 && (
        <p class="notice">
          Nothing was captured of this trace: there are its spans alone. A capture is made of a request that is among
          the slowest of its operation and minute, that takes unusually long, that has an error, or that is asked for.
        </p>
      )}
      {reasons.map((reason) => (
        <p class="notice" key={reason}>
          {reason}
        </p>
      ))}
      {answer.captures_left_out && (
        <p class="notice">
          {answer.captures_left_out.toLocaleString("en")} captures of other requests are left out: they would take too
          much of the query's memory.
        </p>
      )}
      {answer.captures.flatMap(({ id, problem, service }) =>
        problem ? (
          <p class="notice" key={id}>
            The capture {id.slice(0, 8)} of {service} cannot be read: {problem}
          </p>
        ) : (
          []
        ),
      )}
    </>
  );
}
