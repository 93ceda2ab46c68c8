// One snapshot: what it is of, and the server's pictures of it.
import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import type { SnapshotAnswer } from "@/api/generated/answers";
import { useKeys } from "@/keys/keys";
import { Problem, Waiting } from "@/parts/Problem";
import { go } from "@/state/navigation";
import { formatPlace, withQuery, type Place } from "@/state/place";
import { formatInstant } from "@/time/nano";
import { commandText, doubtsOf, engineText, whenOf } from "@/views/snapshots/snapshots";
import { commandOf, pictureAddress, pictureOf, PICTURES, threadsOf } from "./snapshot";
import "./snapshot.css";

export function SnapshotView({ place }: { place: Place }) {
  const id = place.id ?? "";
  const { data, error, again } = useAnswer<SnapshotAnswer>(`snapshots/${id}`);
  useEffect(() => {
    document.title = `Snapshot ${id.slice(0, 8)} · fathom`;
  }, [id]);
  const shown = pictureOf(place.query["show"]);
  const turn = (by: number) => () => {
    const at = PICTURES.findIndex(([name]) => name === shown);
    go(withQuery(place, { show: PICTURES.at((at + by) % PICTURES.length)?.[0] }), "replace");
  };
  useKeys("Snapshot", [
    { key: "]", what: "next picture", run: turn(1) },
    { key: "[", what: "picture before", run: turn(-1) },
  ]);
  if (error) return <Problem error={error} again={again} />;
  if (!data) return <Waiting what="Looking for the snapshot" />;
  return (
    <>
      <h1>
        {commandText(data.command)} <span class="mono faint">{id.slice(0, 8)}</span>
      </h1>
      <Facts of={data} />
      {data.problem && <p class="problem">{data.problem}</p>}
      <Choices place={place} of={data} />
      <Shown place={place} />
    </>
  );
}

function Facts({ of }: { of: SnapshotAnswer }) {
  const { reason, tid, trace_id: trace, span_id: span } = of.trigger;
  const doubts = doubtsOf(of);
  return (
    <dl class="snapshot-facts">
      <div>
        <dt>Taken</dt>
        <dd>{formatInstant(whenOf(of).at, 3)}</dd>
      </div>
      <div>
        <dt>By</dt>
        <dd>{engineText(of)}</dd>
      </div>
      <div>
        <dt>On</dt>
        <dd>{of.host}</dd>
      </div>
      {reason && (
        <div>
          <dt>Because of</dt>
          <dd>
            {reason} {tid >= 0 && `in thread ${tid}`}{" "}
            {trace && <a href={formatPlace({ view: "trace", id: trace, query: span ? { span } : {} })}>its trace</a>}
          </dd>
        </div>
      )}
      {doubts.length > 0 && (
        <div>
          <dt>Doubts</dt>
          <dd>{doubts.join("; ")}</dd>
        </div>
      )}
    </dl>
  );
}

function Choices({ place, of }: { place: Place; of: SnapshotAnswer }) {
  const shown = pictureOf(place.query["show"]);
  const threads = threadsOf(of);
  return (
    <div class="snapshot-bar">
      {PICTURES.map(([name, title]) => (
        <button key={name} aria-pressed={name === shown} onClick={() => go(withQuery(place, { show: name }))}>
          {title}
        </button>
      ))}
      {threads.length > 1 && (
        <label>
          Thread{" "}
          <select
            value={place.query["tid"] ?? ""}
            onChange={(event) => go(withQuery(place, { tid: event.currentTarget.value }))}
          >
            <option value="">all</option>
            {threads.map((tid) => (
              <option key={tid} value={String(tid)}>
                {tid}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  );
}

function Shown({ place }: { place: Place }) {
  const [failed, setFailed] = useState("");
  const id = place.id ?? "";
  const picture = pictureOf(place.query["show"]);
  const address = pictureAddress(id, picture, place.query["tid"]);
  return (
    <>
      <p class="faint">
        <a href={address} download={`${id.slice(0, 8)}-${picture}.svg`}>
          The picture
        </a>
        , and as a table: <code>{commandOf(id, picture, place.query["tid"])}</code>
      </p>
      {failed === address ? (
        <p class="problem" role="alert">
          The server could not draw this one; <a href={address}>its words</a> say why.
        </p>
      ) : (
        <img
          class="snapshot-picture"
          src={address}
          alt={`${picture} of this snapshot`}
          onError={() => setFailed(address)}
        />
      )}
    </>
  );
}
