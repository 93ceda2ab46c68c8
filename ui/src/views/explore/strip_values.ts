// Which values of the attribute are worth a strip, and when they may be asked for.
import { useMemo, useState } from "preact/hooks";
import { useAnswer, type Answer } from "@/api/answer";
import type { AskError } from "@/api/ask";
import type { AttributeValuesAnswer, DifferencesAnswer } from "@/api/generated/answers";
import { rangeParams } from "@/time/range";
import type { Heat } from "./heat";
import { valuesPath } from "./attribute_path";
import { traitsOf } from "./traits";
import { candidates } from "./spread";
import type { Words } from "./words";

// Of values that do not fit the conditions there may be some before those that do.
const MOST_CANDIDATES = 16;
// Above so many spans a strip takes the server longer than a reader who did not ask for it should make others wait.
const UNASKED_SPANS = 1_500_000;

interface StripValues {
  /** Undefined while they are not to be asked for. */
  readonly values: readonly string[] | undefined;
  /** There are so many spans that the reader has to ask; `permit` does. */
  readonly held: boolean;
  readonly permit: () => void;
  /** There may be more values than these. */
  readonly some: boolean;
  readonly error?: AskError;
}

export function useStripValues(
  words: Words,
  heat: Heat | undefined,
  differences: Answer<DifferencesAnswer> | undefined,
): StripValues {
  const { spread } = words;
  const [permitted, setPermitted] = useState<Heat>();
  const held = heat !== undefined && heat.spans > UNASKED_SPANS && permitted !== heat;
  const path = heat && !held ? valuesPath(spread) : undefined;
  // Of the chosen service: the most frequent values of all may have none of a small one's.
  const params = { ...rangeParams(words.range), service: words.service, limit: MOST_CANDIDATES };
  const answer = useAnswer<AttributeValuesAnswer>(path, params);
  // The selection's list and differences go first.
  const waits = differences !== undefined && differences.stale;
  const frequent = answer.data?.key === spread ? answer.data : undefined;
  const telling = differences?.data;
  const values = useMemo(() => {
    const told = telling?.differences.flatMap(traitsOf).filter(({ key, is }) => key === spread && is === "=") ?? [];
    return frequent && candidates(told.map(textOf), frequent.values.map(textOf), MOST_CANDIDATES);
  }, [telling, frequent, spread]);
  return {
    values: path && !waits && !answer.stale ? values : undefined,
    held: held && spread !== "",
    permit: () => setPermitted(heat),
    some: (frequent?.values.length ?? 0) >= MOST_CANDIDATES || frequent?.estimated === true,
    ...(answer.error && { error: answer.error }),
  };
}

function textOf({ value }: { value: string }): string {
  return value;
}
