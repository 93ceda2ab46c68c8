// Traits, which selected spans or requests have more often than others, in words, and what looking at one shows.
import type { Difference, Trait } from "@/api/generated/answers";
import { formatDuration } from "@/time/nano";
import { formatCondition, type Compare } from "./condition_text";
import { withCondition } from "./conditions";
import type { Words } from "./words";

export interface TraitWords {
  /** Whose: "payment POST /v2/score"; empty where it is the selected spans' own. */
  readonly whose: string;
  /** "tenant", "own time". */
  readonly name: string;
  /** "acme", "≥ 500", "fails". */
  readonly value: string;
}

const SIGNS: Readonly<Record<Trait["is"], string>> = { "=": "", ">=": "≥ ", "<=": "≤ ", in: "" };

export function wordsOf(trait: Trait): TraitWords {
  const whose = [trait.service, trait.operation].filter(Boolean).join(" ");
  const { of, key, is, value } = trait;
  switch (of) {
    case "attribute":
    case "resource":
      return { whose, name: key, value: `${SIGNS[is]}${value || "(empty)"}` };
    case "error":
      return { whose, name: "", value: "fails" };
    case "calls":
      return { whose, name: "is called", value: value === "1" ? "at all" : `${value} times or more` };
    case "self_time":
      return { whose, name: "own time", value: `≥ ${formatDuration(Number(value))}` };
    default:
      return { whose, name: of, value: value || "(empty)" };
  }
}

/** Looks only at spans that have it; those of another service are looked at by themselves. */
export function withTrait(words: Words, trait: Trait): Words {
  if (trait.of === "self_time") return withSlow(words, trait);
  return trait.service === "" || trait.of === "operation" ? withOwn(words, trait) : withOthers(words, trait);
}

function withOwn(words: Words, trait: Trait): Words {
  const { of, value } = trait;
  switch (of) {
    case "service":
      return { ...words, service: value, operation: words.service === value ? words.operation : "" };
    case "operation":
      return { ...words, service: trait.service || words.service, operation: value };
    case "status":
      return { ...words, errors: value === "error" };
    default:
      return withCondition(words, conditionOn(trait));
  }
}

// Conditions, and bounds of duration, were the other spans'.
function withOthers({ selection: _, ...words }: Words, trait: Trait): Words {
  const { of, service, operation } = trait;
  const where = of === "attribute" || of === "resource" ? [conditionOn(trait)] : [];
  return { ...words, service, operation, where, errors: of === "error" };
}

// Spans of the operation that may have taken that long themselves, while the selected ones ran.
function withSlow(words: Words, trait: Trait): Words {
  const others = withOthers(words, trait);
  const minNano = Number(trait.value);
  if (!words.selection || !Number.isSafeInteger(minNano)) return others;
  const { maxNano } = words.selection;
  const most = maxNano >= minNano ? maxNano : Number.MAX_SAFE_INTEGER;
  return { ...others, selection: { ...words.selection, minNano, maxNano: most } };
}

/** Of some values that differ together each by itself, as one looks at them one by one; of others themselves. */
export function eachOf(difference: Difference): Trait[] {
  const { of, service, operation, key } = difference;
  return (difference.values ?? []).map((value) => ({ of, service, operation, key, is: "=", value }));
}

export function conditionOn({ key, is, value }: Trait): string {
  // Conditions have no alternatives: of some values nothing is asked but that there is one.
  const compare: Compare = is === "in" ? "has" : is;
  return formatCondition({ key, compare, value });
}

/** Its own trait, and those that exactly the same spans have. */
export function traitsOf(difference: Difference): Trait[] {
  return [difference, ...difference.also];
}
