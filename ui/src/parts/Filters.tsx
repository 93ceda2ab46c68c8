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

/** Asks again every few seconds. */
export function FollowButton({ place }: { place: Place }) {
  const follows = isFollowing(place);
  const toggle = () => go(withQuery(place, { follow: follows ? undefined : "true" }), "replace");
  useKeys("List", [{ key: "l", what: "follow live, or not", run: toggle }]);
  return (
    <button aria-pressed={follows} onClick={toggle}>
      Live <kbd>l</kbd>
    </button>
  );
}

const FOLLOW_MILLISECONDS = 2000;

/** 0: not. */
export function followOf(place: Place, milliseconds = FOLLOW_MILLISECONDS): number {
  return isFollowing(place) ? milliseconds : 0;
}

function isFollowing({ query }: Place): boolean {
  return query["follow"] === "true";
}
