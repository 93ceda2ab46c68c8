// Where the page is, as a signal over the browser's history. From one view to another, by whatever way within the page,
// the words of carried.ts go along.
import { effect, signal } from "@preact/signals";
import { readZone, setUsualZone } from "@/time/nano";
import { isSame, onward, withWordsOf } from "./carried";
import { formatPlace, parsePlace, type Place } from "./place";

/** Undefined: an address that leads nowhere. */
export const place = signal<Place | undefined>(read());
// Before any view draws.
effect(() => setUsualZone(readZone(place.value?.query["zone"])));

function read(): Place | undefined {
  return parsePlace(window.location.pathname, window.location.search);
}

const writers = new Set<() => void>();

/** `write` is called before the page goes to another view: what the address is to have soon, it must have by then. */
export function beforeLeaving(write: () => void): () => void {
  writers.add(write);
  return () => writers.delete(write);
}

function leave(to: Place | undefined): void {
  if (place.value && !(to && isSame(place.value, to))) for (const write of writers) write();
}

/** Goes there. `replace` for what the back button should not step through, as a drag's every pixel. */
export function go(target: Place, how: "push" | "replace" = "push"): void {
  if (how === "push") leave(target);
  const to = onward(place.value, target);
  const address = formatPlace(to);
  if (how === "push") window.history.pushState(null, "", address);
  else window.history.replaceState(null, "", address);
  place.value = to;
}

/** A view as the reader comes to it from here, be it this one: what tabs and their keys lead to. */
export function fromHere(to: Place): Place {
  return place.value ? withWordsOf(place.value, to) : to;
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
    follow(targetOf(link), link.hasAttribute("data-anew"));
    window.scrollTo(0, 0);
  });
}

/** `anew`: what was chosen before stays behind. */
function follow({ pathname, search, href }: URL, anew: boolean): void {
  const to = parsePlace(pathname, search);
  if (to && !anew) return go(to);
  leave(to);
  window.history.pushState(null, "", href);
  place.value = to;
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
