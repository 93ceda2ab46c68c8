// Asks for one heatmap for each of an attribute's values, one after the other, and gives what has come so far.
//
// Each makes the server look at every span that fits, so they are asked for when nothing else is on its way, no more
// than are shown, and each once while the conditions and the range stay.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, type AskError } from "@/api/ask";
import type { HeatmapAnswer } from "@/api/generated/answers";
import { conditionOf } from "./condition_text";
import { heatOf, type Heat } from "./heat";
import { wholeOf } from "./selection_words";
import { filterParams, type Words } from "./words";

/** As many are shown at most; more are not asked for. */
export const MOST_STRIPS = 8;
// Finer than the picture's, so that a bound between slow and quick falls between two of them, or nearly.
const ROWS = 200;
// Whoever clicks on is served first.
const PAUSE_MILLISECONDS = 150;

export interface ValueHeat {
  readonly value: string;
  readonly heat: Heat;
}

interface Found {
  readonly spread: string;
  readonly heats: readonly ValueHeat[];
  /** Every value was asked for, of what is shown now. */
  readonly done: boolean;
  readonly error?: AskError;
}

/** `values` undefined: not to be asked yet. `heats` of the question before stay until the first of the new one is there. */
export function useValueHeats(words: Words, heat: Heat | undefined, values: readonly string[] | undefined): Found {
  const [found, setFound] = useState<Found & { asked?: unknown }>({ spread: "", heats: [], done: false });
  const known = useRef({ question: "", answers: new Map<string, Heat>() });
  const params = heat && { ...filterParams(words), ...wholeOf(heat), columns: heat.columns, rows: ROWS };
  const question = JSON.stringify([params, words.spread]);
  const asked = `${question} ${JSON.stringify(values)}`;
  useEffect(() => {
    if (!params || !values) return undefined;
    if (known.current.question !== question) known.current = { question, answers: new Map() };
    const { answers } = known.current;
    const abort = new AbortController();
    const show = (done: boolean, error?: AskError): void => {
      const heats = shownOf(values, answers);
      setFound({ asked, spread: words.spread, heats, done, ...(error && { error }) });
    };
    const askAll = async (): Promise<void> => {
      for (const value of values) {
        if (shownOf(values, answers).length >= MOST_STRIPS) return;
        if (answers.has(value)) continue;
        const where = [...params.where, conditionOf(words.spread, value)];
        const answer = await ask<HeatmapAnswer>("heatmap", { ...params, where }, abort.signal);
        answers.set(value, heatOf(answer));
        if (answer.spans > 0) show(false);
      }
    };
    const end = (error?: AskError): void => {
      if (!abort.signal.aborted) show(error === undefined, error);
    };
    const timer = window.setTimeout(() => void askAll().then(() => end(), end), PAUSE_MILLISECONDS);
    return () => {
      window.clearTimeout(timer);
      abort.abort();
    };
  }, [question, values]);
  const { spread, heats, done, error } = found;
  if (spread !== words.spread) return { spread: words.spread, heats: [], done: false };
  const current = found.asked === asked;
  return { spread, heats, done: done && current, ...(current && error && { error }) };
}

function shownOf(values: readonly string[], answers: ReadonlyMap<string, Heat>): ValueHeat[] {
  const all = values.flatMap((value) => {
    const heat = answers.get(value);
    return heat && heat.spans > 0 ? [{ value, heat }] : [];
  });
  return all.slice(0, MOST_STRIPS);
}
