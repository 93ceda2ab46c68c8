// The view of one trace: /trace/ID, and with ?compare=ID2 beside another one.
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { TraceAnswer } from "@/api/generated/answers";
import { useAnswer } from "@/api/answer";
import { useKeys } from "@/keys/keys";
import { Problem, Waiting } from "@/parts/Problem";
import { go, place } from "@/state/navigation";
import { withQuery, type Place } from "@/state/place";
import { useShownName } from "@/state/title";
import { Actions, placeOf } from "./actions";
import { useChoices, type Choices } from "./choices";
import { Comparison, USUAL } from "./Comparison";
import { Evidence, evidenceOf } from "./Evidence";
import { Minimap } from "./Minimap";
import { lookUp, makeModel, nameOf, titleSpan } from "./model";
import { PathSummary, RunDetail } from "./PathSummary";
import { visibleRows } from "./rows";
import { SpanDetail } from "./SpanDetail";
import { Toolbar } from "./Toolbar";
import { TraceHead } from "./TraceHead";
import { traceKeys } from "./traceKeys";
import { nodeAt } from "./tree";
import { useHeld } from "./useHeld";
import { UsualComparison } from "./UsualComparison";
import { Waterfall } from "./Waterfall";
import "./trace.css";
import "./low_window.css";
import "./detail.css";
import "./compared.css";

const FOLLOW_MILLISECONDS = 2000;

export function TraceView({ place: here }: { place: Place }) {
  const choices = useChoices(here);
  const { follow } = choices.words.value;
  const id = here.id ?? "";
  const answer = useAnswer<TraceAnswer>(`traces/${encodeURIComponent(id)}`, {}, follow ? FOLLOW_MILLISECONDS : 0);
  const compared = here.query["compare"];
  return (
    <div class={compared ? "trace-compared" : "trace"}>
      {!answer.data && <h1 class="visually-hidden">Trace {id}</h1>}
      {answer.error && <Problem error={answer.error} again={answer.again} />}
      {!answer.data && !answer.error && <Waiting what="Asking for the trace" />}
      {answer.data && compared === USUAL && <UsualComparison place={here} answer={answer.data} />}
      {answer.data && compared && compared !== USUAL && (
        <Comparison place={here} answer={answer.data} otherId={compared} />
      )}
      {answer.data && !compared && <Loaded answer={answer.data} choices={choices} />}
    </div>
  );
}

function Loaded({ answer, choices }: { answer: TraceAnswer; choices: Choices }) {
  const { clock, folding, find, span } = choices.words.value;
  const model = useMemo(() => makeModel(answer, clock), [answer, clock]);
  const title = titleSpan(model);
  useShownName(title && `${title.service} ${nameOf(title)}`);
  const rows = useMemo(() => visibleRows(model.tree, folding), [model, folding]);
  const hits = useMemo(() => model.search.find(find), [model, find]);
  const hitSet = useMemo(() => new Set(hits.nodes), [hits]);
  const act = useMemo(() => new Actions(model, rows, choices), [model, rows, choices]);
  const search = useRef<HTMLInputElement>(null);
  const held = useHeld(answer);
  useKeys(
    "Trace",
    traceKeys(act, () => search.current?.focus(), held),
  );
  const found = lookUp(model.tree, span);
  // Asked for beside this very span: with another one it is the span again.
  const ofTime = place.value?.query["side"] === span;
  const shownFound = ofTime ? undefined : found;
  const turn = () => place.value && go(withQuery(place.value, { side: ofTime ? undefined : span }), "replace");
  useKeys("Beside the waterfall", found ? [{ key: "w", what: "where the time went, or the span", run: turn }] : []);
  // A link may lead to a span that is folded away.
  useEffect(() => {
    const hidden = found && !found.run && rows[placeOf(rows, found)]?.node !== found.node;
    if (hidden) act.select(found.node);
  }, [span, model]);
  if (answer.spans.length === 0) return <WithoutSpans answer={answer} />;
  return (
    <>
      <TraceHead model={model} held={held} />
      <Toolbar act={act} hits={hits} search={search} />
      <Minimap act={act} />
      <div class="trace-body">
        <Waterfall act={act} hits={hitSet} selected={found ? placeOf(rows, found) : -1} />
        <aside
          class="trace-detail"
          aria-label={shownFound ? "The selected span" : "Where the time went"}
          tabIndex={0}
          data-scrolls
        >
          {found && <Sides ofTime={!shownFound} turn={turn} />}
          {!shownFound && <PathSummary act={act} />}
          {shownFound?.run && <RunDetail act={act} run={shownFound.run} />}
          {shownFound && !shownFound.run && (
            <SpanDetail act={act} node={nodeAt(model.tree, shownFound.node)} key={span} />
          )}
        </aside>
      </div>
    </>
  );
}

/** The way back for whoever came to a span by a link. */
function Sides({ ofTime, turn }: { ofTime: boolean; turn: () => void }) {
  return (
    <div class="trace-sides" role="group" aria-label="Beside the waterfall">
      <button aria-pressed={!ofTime} onClick={() => ofTime && turn()}>
        The span
      </button>
      <button aria-pressed={ofTime} onClick={() => ofTime || turn()} title="w">
        Where the time went
      </button>
    </div>
  );
}

function WithoutSpans({ answer }: { answer: TraceAnswer }) {
  return (
    <>
      <h1>A trace of which no span is stored</h1>
      <p>Its spans are still open, or were lost; this was kept of its threads:</p>
      <Evidence trace={answer} found={evidenceOf(answer)} />
    </>
  );
}
