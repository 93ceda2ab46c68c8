import type { Rubber as Chosen } from "./useGestures";
import "./over.css";

/** What a drag has chosen so far. */
export function Rubber({ left, right }: Chosen) {
  return <div class="over-rubber" style={{ left: `${left}px`, width: `${right - left}px` }} />;
}
