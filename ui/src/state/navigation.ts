// Where the page is, as a signal over the browser's history.
import { signal } from "@preact/signals";
import { formatPlace, parsePlace, type Place } from "./place";

/** Undefined: an address that leads nowhere. */
export const place = signal<Place | undefined>(read());

function read(): Place | undefined {
  return parsePlace(window.location.pathname, window.location.search);
}

/** Goes there. `replace` for what the back button should not step through, as a drag's every pixel. */
export function go(to: Place, how: "push" | "replace" = "push"): void {
  const address = formatPlace(to);
  if (how === "push") window.history.pushState(null, "", address);
  else window.history.replaceState(null, "", address);
  place.value = to;
}

/** Makes the browser's own ways (back, forward, links within the page) lead through `place`. */
export function followHistory(): void {
  window.addEventListener("popstate", () => {
    place.value = read();
  });
  document.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a[href]");
    if (!link || !staysHere(event, link)) return;
    event.preventDefault();
    window.history.pushState(null, "", targetOf(link));
    place.value = read();
    window.scrollTo(0, 0);
  });
}

// Links of SVG are no HTMLAnchorElement.
function targetOf(link: Element): URL {
  return new URL(link.getAttribute("href") ?? "", window.location.href);
}

function staysHere(event: MouseEvent, link: Element): boolean {
  const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  const { origin, pathname } = targetOf(link);
  const ours = origin === window.location.origin && !pathname.startsWith("/api/");
  return plain && ours && !link.hasAttribute("target") && !link.hasAttribute("download");
}
