// What the reader chose, as a signal; the address follows it a moment later, because browsers bear only some changes of
// it in a second, and the pointer makes sixty. An address that somebody else changed is taken over.
import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { beforeLeaving, go, place as currentPlace } from "@/state/navigation";
import type { Place } from "@/state/place";
import { AddressedWords } from "./addressedWords";
import type { TimeWindow } from "./timeWindow";
import { readWords, type Words } from "./words";

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

export function useChoices(place: Place): Choices {
  const choices = useMemo(() => makeChoices(place.query), []);
  const addressed = useMemo(() => new AddressedWords(choices.words), []);
  useEffect(() => addressed.takeOver(place.query), [place]);
  useEffect(() => followWords(addressed), []);
  return choices;
}

function followWords(addressed: AddressedWords): () => void {
  let timer = 0;
  const write = () => {
    const here = currentPlace.peek();
    const next = here?.view === "trace" ? addressed.next(here) : undefined;
    if (next) go(next, "replace");
  };
  const stop = addressed.words.subscribe(() => {
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
