// A timeline: of a trace, or of one capture.
import { useMemo } from "preact/hooks";
import { useAnswer } from "@/api/answer";
import type { TimelineAnswer } from "@/api/generated/answers";
import { Problem, Waiting } from "@/parts/Problem";
import type { Place } from "@/state/place";
import { useShownName } from "@/state/title";
import { questionOf } from "./address";
import { Board } from "./Board";
import { Head } from "./Head";
import { modelOf } from "./model";
import "./timeline.css";

export function TimelineView({ place }: { place: Place }) {
  const { path, params } = questionOf(place);
  const { data, error, stale, again } = useAnswer<TimelineAnswer>(path, params);
  const model = useMemo(() => data && modelOf(data), [data]);
  useShownName(data && nameOf(data));
  return (
    <div class="timeline" aria-busy={stale}>
      <Head place={place} model={model} />
      {error && <Problem error={error} again={again} />}
      {!model && !error && <Waiting what="Joining what the threads did with the spans" />}
      {model && <Board place={place} model={model} />}
    </div>
  );
}

/** The first root, or the first span, or whose capture it is. */
function nameOf({ processes, captures }: TimelineAnswer): string | undefined {
  const spans = processes.flatMap((process) => [
    ...process.spans,
    ...process.threads.flatMap((thread) => thread.spans),
  ]);
  const span = spans.find(({ parent_span_id }) => parent_span_id === "") ?? spans[0];
  return span ? `${span.service} ${span.operation}` : captures[0]?.service;
}
