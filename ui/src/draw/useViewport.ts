// What is in sight, as a component has it and the address says it.
import { useResting, type Change } from "@/state/resting";
import { formatViewport, parseViewport, type Viewport } from "./viewport";

/** `word`: under which name the address has it. */
export function useViewport(first: Viewport, word: string): [Viewport, Change<Viewport>, number] {
  return useResting(word, (text) => parseViewport(text) ?? first, formatViewport);
}
