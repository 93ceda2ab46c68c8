import { signal } from "@preact/signals";
import { expect, it } from "vitest";
import type { Place } from "@/state/place";
import { AddressedWords } from "./addressedWords";
import { readWords, type Words } from "./words";

const at = (query: Place["query"]): Place => ({ view: "trace", id: "t", query });
function makeChoices(query: Place["query"]) {
  const words = signal(readWords(query));
  return { words, change: (changes: Partial<Words>) => (words.value = { ...words.value, ...changes }) };
}
const spanOf = (place: Place | undefined) => place?.query["span"];

it("keeps a choice that follows the write of an address and precedes its notice", () => {
  const choices = makeChoices({});
  const addressed = new AddressedWords(choices.words);
  choices.change({ span: "first" });
  const written = addressed.next(at({}));
  choices.change({ span: "second" });
  addressed.takeOver(written?.query ?? {});
  expect(spanOf(written)).toBe("first");
  expect(choices.words.value.span).toBe("second");
  expect(spanOf(addressed.next(written ?? at({})))).toBe("second");
});

it("takes the words of an address that somebody else changed, also if they are those of an earlier address", () => {
  const choices = makeChoices({ span: "first" });
  const addressed = new AddressedWords(choices.words);
  for (const span of ["second", "first"]) {
    addressed.takeOver({ span });
    expect(choices.words.value.span).toBe(span);
    expect(addressed.next(at({ span }))).toBeUndefined();
  }
});

it("keeps a choice that is not in the address yet when somebody else changes other words of it", () => {
  const choices = makeChoices({});
  const addressed = new AddressedWords(choices.words);
  choices.change({ span: "first" });
  addressed.takeOver({ side: "" });
  expect(addressed.next(at({ side: "" }))?.query).toEqual({ side: "", span: "first" });
});
