// Differences, the greatest first: what it is, and the shares that have it on both sides.
import { Fragment, type VNode } from "preact";
import { useState } from "preact/hooks";
import type { Answer } from "@/api/answer";
import type { Difference, DifferencesAnswer, Trait } from "@/api/generated/answers";
import { formatCount, formatShare } from "@/parts/figures";
import type { Show } from "./Explorer";
import { eachOf, traitsOf, withTrait, wordsOf } from "./traits";
import type { Words } from "./words";

interface Props {
  readonly answer: Answer<DifferencesAnswer>;
  readonly words: Words;
  readonly show: Show;
  /** As many are shown at first. */
  readonly most: number;
}

export function DifferenceList({ answer: { data, stale }, words, show, most }: Props) {
  const [all, setAll] = useState(false);
  if (!data) return null;
  // A button in one row's place saves nothing.
  const hidden = data.differences.length > most + 1 ? data.differences.length - most : 0;
  const shown = all || hidden === 0 ? data.differences : data.differences.slice(0, most);
  return (
    <>
      <ol class="differences" data-busy={stale}>
        {shown.map((difference, at) => (
          <Row
            key={JSON.stringify(traitOf(difference))}
            {...{ difference, words, show, first: isFirstOfKey(data.differences, at) }}
          />
        ))}
      </ol>
      {hidden > 0 && (
        <button class="more-differences" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? `Without the last ${hidden}` : `${hidden} more`}
        </button>
      )}
    </>
  );
}

function traitOf({ of, service, operation, key, is, value }: Difference): Trait {
  return { of, service, operation, key, is, value };
}

// The same key is offered once.
function isFirstOfKey(all: readonly Difference[], at: number): boolean {
  return all.findIndex(({ key, service }) => key !== "" && service === "" && key === all[at]?.key) === at;
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
        {difference.is === "in" ? <OneOf {...{ difference, words, show }} /> : <Traits all={traits} />}
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

/** Values that differ together: how many, and each. */
function OneOf({ difference, words, show }: Pick<RowProps, "difference" | "words" | "show">) {
  const { whose, name } = wordsOf(difference);
  const each = eachOf(difference);
  return (
    <>
      {whose && <Broken name={`${whose} `} />}
      <span class="faint">
        <Broken name={name} />
      </span>{" "}
      <b>one of {each.length}:</b>{" "}
      <Folded
        all={each.map((trait) => (
          <button
            key={trait.value}
            class="plain one-value"
            title={`look at ${whose || "these"} only`}
            onClick={() => show(withTrait(words, trait))}
          >
            {trait.value || "(empty)"}
          </button>
        ))}
        rest={(hidden) => `${hidden} more`}
      />
    </>
  );
}

// What the same spans have in common may be a lot: a process's whole description. The first ones say it.
const MOST_TRAITS = 3;

function Traits({ all }: { all: readonly VNode[] }) {
  return <Folded all={all} rest={(hidden) => `and ${hidden} more alike`} />;
}

function Folded({ all, rest }: { all: readonly VNode[]; rest: (hidden: number) => string }) {
  if (all.length <= MOST_TRAITS + 1) return <>{all}</>;
  return (
    <>
      {all.slice(0, MOST_TRAITS)}
      <details class="more-traits">
        <summary>{rest(all.length - MOST_TRAITS)}</summary>
        {all.slice(MOST_TRAITS)}
      </details>
    </>
  );
}

function TraitButton({ trait, also, choose }: { trait: Trait; also: boolean; choose: () => void }) {
  const { whose, name, value } = wordsOf(trait);
  return (
    <button class="plain difference" title={whose ? `look at ${whose}` : "look at these only"} onClick={choose}>
      {also && <span class="faint">and </span>}
      {whose && <Broken name={`${whose} `} />}
      <span class="faint">
        <Broken name={name} />
      </span>{" "}
      <b>{value}</b>
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
