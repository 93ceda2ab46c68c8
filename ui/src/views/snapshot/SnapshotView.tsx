// One snapshot: what it is of, its instructions, and what else can be asked of it.
import { useAnswer } from "@/api/answer";
import type { SnapshotAnswer } from "@/api/generated/answers";
import { useKeys } from "@/keys/keys";
import { Problem, Waiting } from "@/parts/Problem";
import { go } from "@/state/navigation";
import { formatPlace, withQuery, type Place } from "@/state/place";
import { useShownName } from "@/state/title";
import { formatInstant } from "@/time/nano";
import { commandText, doubtsOf, engineText, whenOf } from "@/views/snapshots/snapshots";
import { Answers } from "./answers/Answers";
import { FlowView } from "./flow/FlowView";
import { causeText, partBeside, partOf, PARTS } from "./snapshot";
import "./snapshot.css";

export function SnapshotView({ place }: { place: Place }) {
  const id = place.id ?? "";
  const { data, error, again } = useAnswer<SnapshotAnswer>(`snapshots/${encodeURIComponent(id)}`);
  useShownName(data && commandText(data.command));
  const shown = partOf(place.query["show"]);
  const turn = (by: 1 | -1) => () => go(withQuery(place, { show: wordOf(partBeside(shown, by)) }), "replace");
  useKeys("Snapshot", [
    { key: "]", what: "what else can be asked: the next part", run: turn(1) },
    { key: "[", what: "the part before", run: turn(-1) },
  ]);
  if (error || !data) {
    return (
      <>
        <h1 class="visually-hidden">Snapshot {place.id}</h1>
        {error ? <Problem error={error} again={again} /> : <Waiting what="Looking for the snapshot" />}
      </>
    );
  }
  return (
    <>
      <Head of={data} />
      {data.problem && <p class="problem">{data.problem}</p>}
      <Parts place={place} />
      {shown === "flow" ? <FlowView place={place} /> : <Answers place={place} part={shown} of={data} />}
    </>
  );
}

// The first part is not in the address.
function wordOf(part: string): string | undefined {
  return part === PARTS[0][0] ? undefined : part;
}

function Parts({ place }: { place: Place }) {
  const shown = partOf(place.query["show"]);
  return (
    <nav class="snapshot-parts" aria-label="Parts of the snapshot">
      {PARTS.map(([name, title]) => (
        <a
          key={name}
          aria-current={name === shown ? "page" : undefined}
          href={formatPlace(withQuery(place, { show: wordOf(name) }))}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}

function Head({ of }: { of: SnapshotAnswer }) {
  const { trace_id: trace, span_id: span } = of.trigger;
  const cause = causeText(of.trigger);
  const doubts = doubtsOf(of);
  return (
    <header class="snapshot-head">
      <h1>
        {commandText(of.command)} <span class="mono faint">{of.id.slice(0, 8)}</span>
      </h1>
      <span>
        {formatInstant(whenOf(of).at, 3)} by {engineText(of)}
        {of.host && ` on ${of.host}`}
      </span>
      {cause && (
        <span>
          {cause}{" "}
          {trace && <a href={formatPlace({ view: "trace", id: trace, query: span ? { span } : {} })}>its trace</a>}
        </span>
      )}
      {doubts.length > 0 && <span class="snapshot-doubts">{doubts.join("; ")}</span>}
    </header>
  );
}
