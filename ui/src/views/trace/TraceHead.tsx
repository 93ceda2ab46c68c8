// What a trace is, in a few words: its name, how long, how much, and whether all of it is here.
import type { TraceStepped } from "@/api/generated/answers";
import { formatPlace } from "@/state/place";
import { formatDuration, formatExactNano, formatInstant } from "@/time/nano";
import { Evidence, evidenceOf, type Held } from "./Evidence";
import { firstWindow, outsideOf } from "./fitting";
import { missingParents, nameOf, titleSpan, type TraceModel } from "./model";
import { oversizedText } from "./oversized";
import { isWhole } from "./timeWindow";
import { nodeAt } from "./tree";

export function TraceHead({ model, held }: { model: TraceModel; held: Held | undefined }) {
  const { answer, tree } = model;
  const title = titleSpan(model);
  return (
    <header class="trace-head">
      <div class="trace-title">
        <h1 title={title && `${nameOf(title)} ${title.service}`}>
          {title ? nameOf(title) : "A trace without spans"} {title && <span class="faint">{title.service}</span>}
        </h1>
        <Duration model={model} />
        <Counts model={model} />
        <span class="faint" title="The earliest start">
          {formatInstant(tree.originNano, 3)}
        </span>
        <span class="mono faint trace-id">{answer.trace_id}</span>
      </div>
      <Fitted model={model} />
      {answer.oversized ? (
        <p class="note" role="status">
          {oversizedText(answer)}
        </p>
      ) : (
        <Incomplete model={model} />
      )}
      <Stepped all={answer.stepped ?? []} />
      <Evidence trace={answer} found={evidenceOf(answer)} held={held} />
    </header>
  );
}

/** The request's, which is its root's; that of all its spans beside it where they go on. */
function Duration({ model: { tree, path } }: { model: TraceModel }) {
  const root = path.root === undefined ? undefined : nodeAt(tree, path.root);
  const beside = root && root.startNano > 0 ? "what runs beside it" : "what follows";
  const all = `with ${beside} ${formatDuration(tree.durationNano)}`;
  // The sums of a tree lose digits beyond 2^53; what was sent of the root does not.
  const exact = root?.span?.duration_nano || path.totalNano;
  return (
    <span>
      <b class="trace-duration" title={formatExactNano(exact)}>
        {formatDuration(path.totalNano)}
      </b>
      {tree.durationNano > path.totalNano && (
        <span class="faint" title="from the earliest start to the latest end of its spans">
          , {all}
        </span>
      )}
    </span>
  );
}

const GROUPED = new Intl.NumberFormat("en");

function several(count: number, one: string, many = `${one}s`): string {
  return `${GROUPED.format(count)} ${count === 1 ? one : many}`;
}

function Counts({ model }: { model: TraceModel }) {
  const { answer, services, errors } = model;
  return (
    <span>
      {several(answer.spans.length, "span")} · {several(services, "service")} ·{" "}
      <span class={errors.length > 0 ? "bad" : "faint"}>{several(errors.length, "error")}</span>
    </span>
  );
}

/** A picture of a part says that it is one. */
function Fitted({ model }: { model: TraceModel }) {
  const window = firstWindow(model);
  const { durationNano } = model.tree;
  if (isWhole(window, durationNano)) return null;
  const outside = outsideOf(model, window);
  return (
    <p class="note" role="status">
      <b>Fitted to the root:</b> {several(outside, "span begins or ends", "spans begin or end")} outside of it, so that
      all would be {formatDuration(durationNano)}; a clock may be wrong. <kbd>0</kbd> shows all of the time.
    </p>
  );
}

/** Who looks for why it was slow must not take the recording for it. */
function Stepped({ all }: { all: readonly TraceStepped[] }) {
  const [first] = all;
  if (!first) return null;
  const others = all.length > 1 ? `, and ${several(all.length - 1, "more process", "more processes")}` : "";
  return (
    <p class="note" role="status">
      <b>Slowed by single steps:</b> while this ran, a recording held process {first.pid} on {first.host}
      {others}, so these times are not its own.{" "}
      <a href={formatPlace({ view: "snapshot", id: first.snapshot_id, query: {} })}>The recording</a>
    </p>
  );
}

function Incomplete({ model }: { model: TraceModel }) {
  const missing = missingParents(model);
  const conflicts = model.answer.spans.filter((span) => span.conflicting).length;
  if (model.answer.complete && missing === 0 && conflicts === 0) return null;
  return (
    <p class="note" role="status">
      {(!model.answer.complete || missing > 0) && (
        <>
          <b>Not complete:</b>{" "}
          {missing === 1
            ? "a span that others name as their parent is"
            : `${missing} spans that others name as their parents are`}{" "}
          not stored. It may come yet (follow asks again), or was lost.{" "}
        </>
      )}
      {conflicts > 0 && <>{conflicts} spans share their id with another that says something else; both are shown.</>}
    </p>
  );
}
