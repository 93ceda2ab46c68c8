// The line between names and bars, which one moves: by the pointer, or by arrows while it has the focus. The choice is of
// the reader and not of the trace, so it is kept by the browser, as light and dark are.
import { signal } from "@preact/signals";

const KEY = "fathom-names-share";
const [LEAST, MOST, STEP] = [0.15, 0.8, 0.02];

/** Of the waterfall's width; undefined: as wide as the page thinks best. */
export const namesShare = signal<number | undefined>(readShare(window.localStorage.getItem(KEY)));

export function readShare(kept: string | null): number | undefined {
  const share = Number(kept ?? NaN);
  return share >= LEAST && share <= MOST ? share : undefined;
}

function choose(share: number | undefined): void {
  namesShare.value = share === undefined ? undefined : Math.min(MOST, Math.max(LEAST, share));
  if (namesShare.value === undefined) window.localStorage.removeItem(KEY);
  else window.localStorage.setItem(KEY, namesShare.value.toFixed(4));
}

export function namesStyle(share: number | undefined): Record<string, string> {
  return share === undefined ? {} : { "--names-width": `${share * 100}%` };
}

export function Divider() {
  const share = namesShare.value;
  const shareAt = (element: HTMLElement, x: number) => {
    const pane = element.parentElement?.getBoundingClientRect();
    return pane && pane.width > 0 ? (x - pane.left) / pane.width : 0.45;
  };
  const now = (element: HTMLElement) => shareAt(element, element.getBoundingClientRect().left + 4);
  return (
    <div
      class="waterfall-divider"
      role="separator"
      aria-orientation="vertical"
      aria-label="Between names and bars: arrows move it, Enter puts it back"
      aria-valuemin={LEAST * 100}
      aria-valuemax={MOST * 100}
      aria-valuenow={Math.round((share ?? 0.45) * 100)}
      tabIndex={0}
      style={{ left: "var(--names-width, clamp(15rem, 45%, 36rem))" }}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) choose(shareAt(event.currentTarget, event.clientX));
      }}
      onDblClick={() => choose(undefined)}
      onKeyDown={(event) => {
        const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
        if (by !== undefined) choose(now(event.currentTarget) + by);
        else if (event.key === "Enter") choose(undefined);
        else return;
        event.preventDefault();
      }}
    />
  );
}
