// How the selected spans differ from the others that are shown: the greatest difference first.
import { Fragment, type VNode } from "preact";
import { useAnswer, type Answer } from "@/api/answer";
import type { Difference, DifferenceSide, DifferencesAnswer, Trait } from "@/api/generated/answers";
import { formatCount, formatShare } from "@/parts/figures";
import { Problem, Waiting } from "@/parts/Problem";
import { nameOfTrait, traitsOf, withTrait } from "./conditions";
import type { Show } from "./Explorer";
import type { Heat } from "./heat";
import { wholeOf } from "./selection_words";
import { filterParams, selectionParams, type Words } from "./words";

/** Undefined while nothing is selected. */
export function useDifferences(words: Words, heat: Heat | undefined): Answer<DifferencesAnswer> | undefined {
  const { selection } = words;
  const whole = heat && wholeOf(heat);
  const params = selection &&
    whole && { ...selectionParams(selection), ...filterParams(words), view_from: whole.from, view_to: whole.to };
  const answer = useAnswer<DifferencesAnswer>(params && "differences", { ...params, limit: 30 });
  return params && answer;
}

interface Props {
  readonly words: Words;
  readonly show: Show;
  readonly answer: Answer<DifferencesAnswer> | undefined;
}

export function Differences({ words, show, answer }: Props) {
  const { data, error, again, stale = false } = answer ?? {};
  return (
    <section class="explore-differences explore-side" aria-label="How the selection differs">
      <div class="explore-head">
        <h2>How the selection differs</h2>
        {data && <Sides selected={data.selected} rest={data.rest} />}
      </div>
      {!answer && <Hint />}
      {error && <Problem error={error} {...(again && { again })} />}
      {answer && !data && !error && <Waiting what="Comparing" />}
      {data?.differences.length === 0 && <p class="faint">{nothingText(data)}</p>}
      {data && (
        <ol class="differences" data-busy={stale}>
          {data.differences.map((difference, at) => (
            <Row
              key={`${difference.of} ${difference.key} ${difference.value}`}
              {...{ difference, words, show, first: isFirstOfKey(data.differences, at) }}
            />
          ))}
        </ol>
      )}
    </section>
  );
}

function nothingText({ selected, rest }: DifferencesAnswer): string {
  if (selected.spans === 0) return "Nothing that is shown lies in the selection, so there is nothing to compare.";
  if (rest.spans === 0) return "All that is shown is selected, so there is nothing to compare it with.";
  return "In nothing that spans say: operations, attributes, nodes and versions are shared alike.";
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

function Sides({ selected, rest }: { selected: DifferenceSide; rest: DifferenceSide }) {
  return (
    <span class="faint" title="how many of them were looked at">
      <span class="swatch selected" aria-hidden="true" /> {sideText(selected)} selected{" "}
      <span class="swatch rest" aria-hidden="true" /> {sideText(rest)} others
    </span>
  );
}

// "321 of 418": as many were looked at.
function sideText({ spans, looked_at, estimated }: DifferenceSide): string {
  const all = `${estimated ? "about " : ""}${formatCount(spans)}`;
  return looked_at < spans ? `${formatCount(looked_at)} of ${all}` : all;
}

// The same key is offered once.
function isFirstOfKey(all: readonly Difference[], at: number): boolean {
  return all.findIndex(({ key }) => key !== "" && key === all[at]?.key) === at;
}

interface RowProps {
  readonly difference: Difference;
  readonly words: Words;
  readonly show: Show;
  readonly first: boolean;
}

function Row({ difference, words, show, first }: RowProps) {
  const { selected, rest, selected_share, rest_share, key } = difference;
  const shares = `${formatShare(selected_share)} of the selected (${formatCount(selected)}), ${formatShare(rest_share)} of the others (${formatCount(rest)})`;
  const traits = traitsOf(difference).map((trait, at) => (
    <TraitButton key={JSON.stringify(trait)} trait={trait} also={at > 0} choose={() => show(withTrait(words, trait))} />
  ));
  return (
    <li>
      <div title={shares}>
        <Traits all={traits} />
        <span class="visually-hidden">{shares}</span>
        <button
          class="plain over-time"
          hidden={!first}
          aria-pressed={words.spread === key}
          title={`how the values of ${key} lie over time`}
          onClick={() => show({ ...words, spread: key })}
        >
          over time<span class="visually-hidden"> {key}</span>
        </button>
      </div>
      <Bars difference={difference} />
    </li>
  );
}

// What the same spans have in common may be a lot: a process's whole description. The first ones say it.
const MOST_TRAITS = 4;

function Traits({ all }: { all: readonly VNode[] }) {
  if (all.length <= MOST_TRAITS + 1) return <>{all}</>;
  return (
    <>
      {all.slice(0, MOST_TRAITS)}
      <details class="more-traits">
        <summary>and {all.length - MOST_TRAITS} more alike</summary>
        {all.slice(MOST_TRAITS)}
      </details>
    </>
  );
}

function TraitButton({ trait, also, choose }: { trait: Trait; also: boolean; choose: () => void }) {
  return (
    <button class="plain difference" title="look at these only" onClick={choose}>
      <span class="faint">
        {also && "and "}
        <Broken name={nameOfTrait(trait)} />
      </span>{" "}
      <b>{trait.value || "(empty)"}</b>
    </button>
  );
}

/** Long names break where their parts meet. */
function Broken({ name }: { name: string }) {
  const parts = name.split(/(?<=[._/-])/);
  return (
    <>
      {parts.map((part, at) => (
        <Fragment key={at}>
          {part}
          {at + 1 < parts.length && <wbr />}
        </Fragment>
      ))}
    </>
  );
}

function Bars({ difference: { selected, rest, selected_share, rest_share } }: { difference: Difference }) {
  return (
    <span class="shares" aria-hidden="true">
      <span class="share selected">
        <i style={{ width: `${selected_share * 100}%` }} />
      </span>
      <span class="number">{formatShare(selected_share)}</span>
      <span class="number faint">{formatCount(selected)}</span>
      <span class="share rest">
        <i style={{ width: `${rest_share * 100}%` }} />
      </span>
      <span class="number faint">{formatShare(rest_share)}</span>
      <span class="number faint">{formatCount(rest)}</span>
    </span>
  );
}
