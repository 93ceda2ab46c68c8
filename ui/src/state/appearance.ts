// Light or dark: what the system says, unless the reader chose. The choice is of the reader, not of the view, so it is
// not in the address.
import { signal } from "@preact/signals";

export type Appearance = "system" | "light" | "dark";

const KEY = "fathom-appearance";
const system = window.matchMedia("(prefers-color-scheme: dark)");

export const appearance = signal<Appearance>(read());
export const isDark = signal(false);

function read(): Appearance {
  const kept = window.localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

function apply(): void {
  const chosen = appearance.value;
  isDark.value = chosen === "dark" || (chosen === "system" && system.matches);
  document.documentElement.dataset["appearance"] = isDark.value ? "dark" : "light";
}

export function chooseAppearance(chosen: Appearance): void {
  appearance.value = chosen;
  if (chosen === "system") window.localStorage.removeItem(KEY);
  else window.localStorage.setItem(KEY, chosen);
  apply();
}

export function followAppearance(): void {
  apply();
  system.addEventListener("change", apply);
}
