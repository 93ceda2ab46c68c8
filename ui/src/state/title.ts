// What the window is called: by the view, and by what is shown in it once that is known.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export const shownName = signal<string | undefined>(undefined);

/** While the component is there; undefined: not known (yet). */
export function useShownName(name: string | undefined): void {
  useEffect(() => {
    shownName.value = name;
    return () => {
      shownName.value = undefined;
    };
  }, [name]);
}
