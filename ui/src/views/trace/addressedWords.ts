// The words of the address, as this view last wrote them or took them over.
//
// The view hears of a new address a moment after it was written. A choice may come in between. The words of that address
// are older than the choice and must not undo it.
import type { Signal } from "@preact/signals";
import { withQuery, type Place } from "@/state/place";
import { readWords, writeWords, type Words } from "./words";

function wordsText(words: Words): string {
  return JSON.stringify(writeWords(words));
}

export class AddressedWords {
  #inAddress: string;

  constructor(readonly words: Signal<Words>) {
    this.#inAddress = wordsText(words.peek());
  }

  /** Takes the words of an address that somebody else changed. */
  takeOver(query: Place["query"]): void {
    const said = readWords(query);
    const text = wordsText(said);
    if (text === this.#inAddress) return;
    this.#inAddress = text;
    if (text !== wordsText(this.words.peek())) this.words.value = said;
  }

  /** What the address `here` must become; undefined: it has the words already. */
  next(here: Place): Place | undefined {
    const words = this.words.peek();
    const next = withQuery(here, writeWords(words));
    if (wordsText(readWords(here.query)) === wordsText(words)) return undefined;
    this.#inAddress = wordsText(readWords(next.query));
    return next;
  }
}
