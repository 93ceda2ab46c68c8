// Keys: what the keyboard does where, in one list that `?` shows.
//
// A view binds its keys while it is on the page; of two that bind the same key the later one has it, so that a list
// inside a view goes before the view. Keys are written as KeyboardEvent.key has them, with "Shift+", "Ctrl+", "Alt+"
// before them where they are needed for anything but the character itself ("?" needs no "Shift+").
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { drawWaiting, followDrawing } from "./drawing";

export interface KeyBinding {
  readonly key: string;
  /** For people: "next span". */
  readonly what: string;
  /** Whether it is meant, where the key has another meaning for some of the page; else it is passed on. */
  readonly when?: (event: KeyboardEvent) => boolean;
  readonly run: (event: KeyboardEvent) => void;
}

export interface KeyGroup {
  readonly title: string;
  readonly bindings: readonly KeyBinding[];
}

export const keyGroups = signal<readonly KeyGroup[]>([]);

export function nameOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "altKey" | "shiftKey">): string {
  const shift = event.shiftKey && (event.key.length > 1 || event.key === " ");
  return `${event.ctrlKey ? "Ctrl+" : ""}${event.altKey ? "Alt+" : ""}${shift ? "Shift+" : ""}${event.key}`;
}

const SIGNS: Readonly<Record<string, string>> = {
  ...{ ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" },
  " ": "Space",
};

/** As it stands on keyboards: "Shift+←". */
export function signOf(key: string): string {
  const at = key.lastIndexOf("+", key.length - 2) + 1;
  return key.slice(0, at) + (SIGNS[key.slice(at)] ?? key.slice(at));
}

export function bindingFor(
  groups: readonly KeyGroup[],
  name: string,
  meant: (binding: KeyBinding) => boolean = () => true,
): KeyBinding | undefined {
  for (const group of [...groups].reverse()) {
    const found = group.bindings.find((binding) => binding.key === name && meant(binding));
    if (found) return found;
  }
  return undefined;
}

/** Binds them while the component is there. */
export function useKeys(title: string, bindings: readonly KeyBinding[]): void {
  const latest = useRef(bindings);
  latest.current = bindings;
  const shape = bindings.map((binding) => `${binding.key}\n${binding.what}`).join("\n");
  // With the drawing, not behind it: what is seen can be pressed.
  useLayoutEffect(() => {
    // What a key does may change with every drawing; what is listed, only with `shape`.
    const listed = latest.current.map((binding, index) => ({
      ...binding,
      when: (event: KeyboardEvent) => latest.current[index]?.when?.(event) ?? true,
      run: (event: KeyboardEvent) => latest.current[index]?.run(event),
    }));
    const group: KeyGroup = { title, bindings: listed };
    keyGroups.value = [...keyGroups.value, group];
    return () => {
      keyGroups.value = keyGroups.value.filter((other) => other !== group);
    };
  }, [title, shape]);
}

/** One writes in it, or chooses with letters: every key is its own. A box that is ticked is not such. */
export function writes(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== "checkbox";
  return target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName);
}

const PRESSES: readonly string[] = [" ", "Enter"];
const SCROLLS: readonly string[] = ["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "];

/** What has the focus needs the key itself: a button is pressed by it, a box ticked, what has `data-scrolls` scrolled. */
export function isTaken(target: Pick<Element, "closest"> | null, key: string): boolean {
  if (key === " " && target?.closest("input")) return true;
  if (PRESSES.includes(key) && target?.closest("button, a[href], summary")) return true;
  return SCROLLS.includes(key) && Boolean(target?.closest("[data-scrolls]"));
}

/** What lies behind an open dialog hears nothing. Escape closes it by itself, and so does what opened the help. */
function isForDialog(event: KeyboardEvent): boolean {
  const dialog = document.querySelector<HTMLDialogElement>("dialog[open]");
  if (dialog && nameOf(event) === "?") dialog.close();
  return dialog !== null;
}

export function listenForKeys(): void {
  followDrawing();
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.metaKey || (writes(event.target) && event.key !== "Escape")) return;
    if (event.target instanceof Element && isTaken(event.target, nameOf(event))) return;
    if (isForDialog(event)) return;
    drawWaiting();
    const binding = bindingFor(keyGroups.value, nameOf(event), ({ when }) => when?.(event) ?? true);
    if (!binding) return;
    event.preventDefault();
    binding.run(event);
  });
}
