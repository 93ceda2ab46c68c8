// What the pointer or the keyboard is at, and what stays in sight meanwhile. A signal, so that a move of the pointer
// changes attributes of the few elements that it concerns, and draws nothing anew.
import { signal, type ReadonlySignal } from "@preact/signals";
import type { Call } from "./calls";

/** A service's name, or a call's key. */
export interface Focus {
  readonly service?: string;
  readonly call?: Pick<Call, "key" | "from" | "to">;
}

export type Focusing = ReturnType<typeof focusing>;

export function focusing() {
  const focus = signal<Focus>({});
  return {
    focus: focus as ReadonlySignal<Focus>,
    at: (next: Focus) => () => {
      focus.value = next;
    },
    leave: () => {
      focus.value = {};
    },
  };
}

export function isAnywhere({ service, call }: Focus): boolean {
  return service !== undefined || call !== undefined;
}

export function isNearCall({ service, call }: Focus, { key, from, to }: Pick<Call, "key" | "from" | "to">): boolean {
  return call?.key === key || (service !== undefined && (service === from || service === to));
}

export function isNearService(
  { service, call }: Focus,
  name: string,
  neighbours: ReadonlyMap<string, ReadonlySet<string>>,
): boolean {
  if (call) return call.from === name || call.to === name;
  return service === name || (service !== undefined && (neighbours.get(service)?.has(name) ?? false));
}
