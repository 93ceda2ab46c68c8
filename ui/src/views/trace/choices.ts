// What the reader chose, as a signal; the address follows it a moment later, because browsers bear only some changes of
// it in a second, and the pointer makes sixty. An address that somebody else changed is taken over.
import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { beforeLeaving, go, place as currentPlace } from "@/state/navigation";
import { withQuery, type Place } from "@/state/place";
import type { TimeWindow } from "./timeWindow";
import { readWords, writeWords, type Words } from "./words";

const SETTLE_MILLISECONDS = 150;

export interface Choices {
  readonly words: Signal<Words>;
  readonly window: ReadonlySignal<TimeWindow | undefined>;
  change(words: Partial<Words>): void;
}

export function makeChoices(query: Place["query"]): Choices {
  const words = signal(readWords(query));
  return {
    words,
    window: computed(() => words.value.window),
    change: (changes) => {
      words.value = { ...words.peek(), ...changes };
    },
  };
}

function wordsText(words: Words): string {
  return JSON.stringify(writeWords(words));
}

export function useChoices(place: Place): Choices {
  const choices = useMemo(() => makeChoices(place.query), []);
  useEffect(() => {
    const settled = readWords(place.query);
    if (wordsText(settled) !== wordsText(choices.words.peek())) choices.words.value = settled;
  }, [place]);
  useEffect(() => followWords(choices), []);
  return choices;
}

function followWords({ words }: Choices): () => void {
  let timer = 0;
  const write = () => {
    const here = currentPlace.peek();
    if (here?.view !== "trace" || wordsText(readWords(here.query)) === wordsText(words.peek())) return;
    go(withQuery(here, writeWords(words.peek())), "replace");
  };
  const stop = words.subscribe(() => {
    window.clearTimeout(timer);
    timer = window.setTimeout(write, SETTLE_MILLISECONDS);
  });
  const stay = beforeLeaving(write);
  return () => {
    window.clearTimeout(timer);
    stay();
    stop();
  };
}
