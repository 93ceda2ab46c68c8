// What the address says under a word, as a component has it: changed as often as one likes (a drag, a key that is held),
// and written into the address when it rests, because browsers limit how often an address may change; or before another
// view is gone to, so that the way back leads to it.
import { useEffect, useRef, useState } from "preact/hooks";
import { beforeLeaving, go, place } from "./navigation";
import { withQuery } from "./place";

const REST_MILLISECONDS = 200;

export type Change<Value> = (next: (before: Value) => Value) => void;

/**
 * `parse` reads the word's text, or its absence; `format` writes it, undefined: the address does not have it. The last
 * of the three counts how often the address was changed by somebody else.
 */
export function useResting<Value>(
  word: string,
  parse: (text: string | undefined) => Value,
  format: (value: Value) => string | undefined,
): [Value, Change<Value>, number] {
  const said = place.value?.query[word];
  const written = useRef(said);
  const timer = useRef(0);
  const rests = useRef<(() => void) | undefined>(undefined);
  const [value, setValue] = useState(() => parse(said));
  const [changes, setChanges] = useState(0);

  const forget = () => {
    window.clearTimeout(timer.current);
    rests.current = undefined;
  };

  // The address was changed by somebody else: back, forward, a link.
  useEffect(() => {
    if (said === written.current) return;
    forget();
    written.current = said;
    setValue(parse(said));
    setChanges((before) => before + 1);
  }, [said]);
  useEffect(() => {
    const stop = beforeLeaving(() => rests.current?.());
    return () => {
      stop();
      forget();
    };
  }, []);

  const write = (after: Value) => {
    forget();
    if (!place.value) return;
    written.current = format(after);
    go(withQuery(place.value, { [word]: written.current }), "replace");
  };
  const change: Change<Value> = (next) => {
    setValue((before) => {
      const after = next(before);
      forget();
      rests.current = () => write(after);
      timer.current = window.setTimeout(rests.current, REST_MILLISECONDS);
      return after;
    });
  };
  return [value, change, changes];
}
