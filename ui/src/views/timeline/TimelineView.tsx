// A timeline: of a trace, or of one capture.
import { useEffect, useMemo } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import type { TimelineAnswer } from "@/api/generated/answers";
import { Problem, Waiting } from "@/parts/Problem";
import type { Place } from "@/state/place";
import { questionOf } from "./address";
import { Board } from "./Board";
import { Head } from "./Head";
import { modelOf } from "./model";
import "./timeline.css";

export function TimelineView({ place }: { place: Place }) {
  const { path, params } = questionOf(place);
  const { data, error, stale, again } = useAnswer<TimelineAnswer>(path, params);
  const model = useMemo(() => data && modelOf(data), [data]);
  useEffect(() => {
    document.title = `${place.view === "capture" ? "Capture" : "Timeline"} ${place.id?.slice(0, 8) ?? ""} · fathom`;
  }, [place.id, place.view]);
  return (
    <div class="timeline" aria-busy={stale}>
      <Head place={place} model={model} />
      {error && <Problem error={error} again={again} />}
      {!model && !error && <Waiting what="Joining what the threads did with the spans" />}
      {model && <Board place={place} model={model} />}
    </div>
  );
}
