// Fields that change words of the address' query: what a list is filtered by.
import { go } from "@/state/navigation";
import { withQuery, type Place } from "@/state/place";
import { useKeys } from "@/keys/keys";
import { useRef } from "preact/hooks";

function change(place: Place, name: string, value: string): void {
  go(withQuery(place, { [name]: value }));
}

interface FieldProps {
  readonly place: Place;
  readonly name: string;
  readonly label: string;
}

/** A text; the key "/" goes to the one that has `first`. */
export function TextFilter({
  place,
  name,
  label,
  first = false,
  hint = "",
}: FieldProps & { first?: boolean; hint?: string }) {
  const input = useRef<HTMLInputElement>(null);
  useKeys(
    `Filter ${label}`,
    first ? [{ key: "/", what: `filter by ${label}`, run: () => input.current?.focus() }] : [],
  );
  return (
    <label>
      {label}
      <input
        ref={input}
        type="search"
        value={place.query[name] ?? ""}
        placeholder={hint}
        onChange={(event) => change(place, name, event.currentTarget.value.trim())}
      />
    </label>
  );
}

interface ChoiceProps extends FieldProps {
  readonly choices: readonly (readonly [value: string, text: string])[];
}

export function ChoiceFilter({ place, name, label, choices }: ChoiceProps) {
  return (
    <label>
      {label}
      <select value={place.query[name] ?? ""} onChange={(event) => change(place, name, event.currentTarget.value)}>
        {choices.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Asks again every two seconds. */
export function FollowButton({ place }: { place: Place }) {
  const follows = place.query["follow"] === "1";
  const toggle = () => go(withQuery(place, { follow: follows ? undefined : "1" }), "replace");
  useKeys("List", [{ key: "l", what: "follow live, or not", run: toggle }]);
  return (
    <button aria-pressed={follows} onClick={toggle}>
      Follow live
    </button>
  );
}

export const FOLLOW_MILLISECONDS = 2000;

export function followOf(place: Place): number {
  return place.query["follow"] === "1" ? FOLLOW_MILLISECONDS : 0;
}
