// How the selected spans differ from the others that are shown: the greatest difference first.
import { useRef } from "preact/hooks";
import { useAnswer, type Answer } from "@/api/answer";
import type { DifferencesAnswer } from "@/api/generated/answers";
import { formatCount } from "@/parts/figures";
import { Problem, Waiting } from "@/parts/Problem";
import { DifferenceList } from "./DifferenceList";
import type { Show } from "./Explorer";
import type { Heat } from "./heat";
import { wholeOf } from "./selection_words";
import { countedSides, sideText } from "./sides";
import { filterParams, selectionParams, type Words } from "./words";
import "./differences.css";

export interface Compared {
  /** Of the selected spans. */
  readonly own: Answer<DifferencesAnswer>;
  /** Of the requests that they are of: what their other spans say. */
  readonly requests: Answer<DifferencesAnswer>;
}

/** Undefined while nothing is selected. */
export function useDifferences(words: Words, heat: Heat | undefined): Compared | undefined {
  const { selection } = words;
  const whole = heat && wholeOf(heat);
  const params = selection &&
    whole && { ...selectionParams(selection), ...filterParams(words), view_from: whole.from, view_to: whole.to };
  const own = useAnswer<DifferencesAnswer>(params && "differences", { ...params, limit: 30 });
  // Requests are read whole, so they are asked for once the list and the spans' own differences are there.
  const there = params && !own.stale && own.data !== undefined && own.data.selected.spans > 0;
  const requests = useAnswer<DifferencesAnswer>(there ? "differences" : undefined, {
    ...params,
    limit: 20,
    within: "trace",
  });
  return params && { own, requests };
}

interface Props {
  readonly words: Words;
  readonly show: Show;
  readonly answer: Compared | undefined;
  /** Of the same spans, unless it is still on its way. */
  readonly heat: Heat | undefined;
}

// What the requests say is the telling part: it is to be in sight below what the spans themselves say.
const MOST_OWN = 4;
const MOST_OF_REQUESTS = 8;

export function Differences({ words, show, answer, heat }: Props) {
  const { data, error, again } = answer?.own ?? {};
  const shown = useShownSpans(answer?.own, heat);
  const sides = data && countedSides(data, shown);
  const alone = answer?.requests.data?.differences.length === 0 || answer?.requests.error !== undefined;
  const of = JSON.stringify(words.selection && selectionParams(words.selection));
  return (
    <section class="explore-differences explore-side" aria-label="How the selection differs">
      <div class="explore-head">
        <h2>How the selection differs</h2>
        {sides && (
          <span class="faint" title="how many of them were looked at">
            <Swatch of="selected" /> {sideText(sides.selected)} selected <Swatch of="rest" /> {sideText(sides.rest)}{" "}
            others
          </span>
        )}
      </div>
      {!answer && <Hint />}
      {error && <Problem error={error} {...(again && { again })} />}
      {answer && !data && !error && <Waiting what="Comparing" />}
      {answer && data && (
        <div class="difference-lists" data-scrolls tabIndex={0} role="region" aria-label="Differences">
          {data.differences.length === 0 && <p class="faint">{nothingText(data)}</p>}
          <DifferenceList key={of} answer={answer.own} {...{ words, show }} most={alone ? Infinity : MOST_OWN} />
          {data.selected.spans > 0 && (
            <OfRequests key={`requests ${of}`} answer={answer.requests} {...{ words, show }} />
          )}
        </div>
      )}
    </section>
  );
}

/** What the heatmap counted of the view that this answer is of: while one follows live, the next one may be there. */
function useShownSpans(answer: Answer<DifferencesAnswer> | undefined, heat: Heat | undefined): number | undefined {
  const known = useRef<{ data: DifferencesAnswer; spans: number } | undefined>(undefined);
  if (answer?.data && !answer.stale && heat) known.current = { data: answer.data, spans: heat.spans };
  return known.current && known.current.data === answer?.data ? known.current.spans : undefined;
}

function OfRequests({ answer, words, show }: { answer: Answer<DifferencesAnswer>; words: Words; show: Show }) {
  const { data, error, again } = answer;
  return (
    <section aria-label="In the rest of their requests">
      <div class="difference-head">
        <h3>In the rest of their requests</h3>
        {data && data.differences.length > 0 && <RequestSides {...data} />}
      </div>
      {error && <Problem error={error} again={again} />}
      {!data && !error && <Waiting what="Reading requests" />}
      {data?.differences.length === 0 && (
        <p class="faint">
          Nothing: other spans of the {formatCount(data.selected.looked_at)} selected and{" "}
          {formatCount(data.rest.looked_at)} other requests that were looked at are alike.
        </p>
      )}
      <DifferenceList answer={answer} words={words} show={show} most={MOST_OF_REQUESTS} />
    </section>
  );
}

// How many requests there are is not known, only how many were looked at.
function RequestSides({ selected, rest }: Pick<DifferencesAnswer, "selected" | "rest">) {
  return (
    <span class="faint" title="as many requests were looked at">
      <Swatch of="selected" /> of {formatCount(selected.looked_at)} selected <Swatch of="rest" /> of{" "}
      {formatCount(rest.looked_at)} other requests
    </span>
  );
}

function nothingText({ selected, rest }: DifferencesAnswer): string {
  if (selected.spans === 0) return "Nothing that is shown lies in the selection, so there is nothing to compare.";
  if (rest.spans === 0) return "All that is shown is selected, so there is nothing to compare it with.";
  return "In nothing that the selected spans themselves say: operations, attributes, nodes and versions are shared alike.";
}

function Hint() {
  return (
    <p class="faint hint">
      Drag over slow requests in the heatmap, or go there with <kbd>h</kbd>, move with the arrows, extend with{" "}
      <kbd>Shift</kbd> and keep with <kbd>Enter</kbd>. Here you will see which operations, attribute values, nodes and
      versions they have more often than the others.
    </p>
  );
}

function Swatch({ of }: { of: "selected" | "rest" }) {
  return <span class={`swatch ${of}`} aria-hidden="true" />;
}
