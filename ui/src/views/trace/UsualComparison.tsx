// A request beside what is usual for it: ?compare=usual.
import { useEffect, useMemo, useState } from "preact/hooks";
import { ask } from "@/api/ask";
import type { SlowRow, TraceAnswer } from "@/api/generated/answers";
import { Waiting } from "@/parts/Problem";
import { formatPlace, withQuery, type Place } from "@/state/place";
import { formatDuration, formatInstant } from "@/time/nano";
import { CompareHead, Ordered, useTold, type ToldModel } from "./Comparison";
import { compareWithMany } from "./ensemble";
import { makeModel } from "./model";
import { findUsual, subjectOf, type Usual } from "./usual";

/** All of them together: a browser has room for more, but one waits for them. */
const MOST_SPANS = 150_000;
const AT_ONCE = 4;

interface Found {
  readonly usual: Usual;
  readonly traces: readonly TraceAnswer[];
}

export function UsualComparison({ place, answer }: { place: Place; answer: TraceAnswer }) {
  const one = useTold(answer);
  const [found, problem] = useUsual(one);
  return (
    <>
      <CompareHead place={place} title="Compared with usual ones" />
      {problem && (
        <p class="problem" role="alert">
          There is no usual one to compare with: {problem}
        </p>
      )}
      {!found && !problem && <Waiting what="Looking for usual ones" />}
      {found && <Beside place={place} one={one} found={found} />}
    </>
  );
}

function useUsual({ answer, tree, path }: ToldModel): readonly [Found | undefined, string | undefined] {
  const [state, setState] = useState<readonly [Found | undefined, string | undefined]>([undefined, undefined]);
  useEffect(() => {
    const subject = subjectOf(answer.trace_id, tree, path.root);
    if (!subject) return undefined;
    const abort = new AbortController();
    const search = async () => {
      const usual = await findUsual(subject, ask, abort.signal);
      return { usual, traces: await tracesOf(usual.rows, abort.signal) };
    };
    search().then(
      (found) => setState([found, undefined]),
      (problem: Error) => abort.signal.aborted || setState([undefined, problem.message]),
    );
    return () => abort.abort();
  }, [answer.trace_id]);
  return state;
}

/** The nearest to the median first, as far as the room goes; at least one. */
async function tracesOf(rows: readonly SlowRow[], signal: AbortSignal): Promise<readonly TraceAnswer[]> {
  let spans = 0;
  const wanted = rows.filter((row, at) => (spans += row.spans) <= MOST_SPANS || at === 0);
  const found: TraceAnswer[] = [];
  for (let first = 0; first < wanted.length; first += AT_ONCE) {
    const some = wanted.slice(first, first + AT_ONCE);
    found.push(...(await Promise.all(some.map((row) => ask<TraceAnswer>(`traces/${row.trace_id}`, {}, signal)))));
  }
  return found;
}

function Beside({ place, one, found: { usual, traces } }: { place: Place; one: ToldModel; found: Found }) {
  const models = useMemo(() => traces.map((trace) => makeModel(trace, "corrected")), [traces]);
  const rows = useMemo(() => compareWithMany(one, models), [one, models]);
  const nearest = usual.rows[0]?.trace_id ?? "";
  return (
    <>
      <p>
        This one took <b class="critical">{formatDuration(one.path.totalNano)}</b>; the median of its operation is{" "}
        <b>{formatDuration(usual.medianNano)}</b>, and {traces.length} requests of about that length are what it is
        compared with. <a href={formatPlace(withQuery(place, { compare: nearest }))}>With the nearest one alone</a>
      </p>
      <p class={usual.around ? "note" : "faint"}>
        Usual is what was between {formatInstant(usual.of.from, 0)} and {formatInstant(usual.of.to, 0)}:{" "}
        {usual.around
          ? "the hours around it, as nothing is known of before; what made it slow may have made these slow, too."
          : "the day before, without the hour before it, so that what made it slow is not among them."}
      </p>
      <Ordered place={place} rows={rows} one={one} others={models} usual={traces.length} />
    </>
  );
}
