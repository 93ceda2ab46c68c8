// What is in sight, as a component has it: changed with every frame of a drag, and written into the address when it
// rests, because browsers limit how often an address may change.
import { useEffect, useRef, useState } from "preact/hooks";
import { go, place } from "@/state/navigation";
import { withQuery } from "@/state/place";
import { formatViewport, parseViewport, type Viewport } from "./viewport";

const REST_MILLISECONDS = 200;

/** `word`: under which name the address has it. */
export function useViewport(first: Viewport, word: string): [Viewport, (next: (before: Viewport) => Viewport) => void] {
  const said = place.value?.query[word];
  const written = useRef(said);
  const timer = useRef(0);
  const [view, setView] = useState(() => parseViewport(said) ?? first);

  // The address was changed by somebody else: back, forward, a link.
  useEffect(() => {
    if (said === written.current) return;
    written.current = said;
    setView(parseViewport(said) ?? first);
  }, [said]);
  useEffect(() => () => window.clearTimeout(timer.current), []);

  const change = (next: (before: Viewport) => Viewport) => {
    setView((before) => {
      const after = next(before);
      window.clearTimeout(timer.current);
      timer.current = window.setTimeout(() => write(after), REST_MILLISECONDS);
      return after;
    });
  };
  const write = (after: Viewport) => {
    if (!place.value) return;
    written.current = formatViewport(after);
    go(withQuery(place.value, { [word]: written.current }), "replace");
  };
  return [view, change];
}
