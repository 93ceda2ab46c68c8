// Search in the list: a function's calls, or a text of instructions.
import type { RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import { ask, type AskError } from "@/api/ask";
import type { SnapshotViewFindAnswer } from "@/api/generated/answers";
import { go, place as currentPlace } from "@/state/navigation";
import { withQuery } from "@/state/place";
import { findParams, viewPath, type Search as Wanted } from "./address";
import type { Flow } from "./flow";

export interface SearchControls {
  readonly wanted: Wanted;
  readonly told: string;
  readonly find: (backwards: boolean) => void;
  readonly change: (changes: { readonly find?: string; readonly in?: string }) => void;
}

/** The nearest match behind the selection (before it) is selected; `told` says what came of it. */
export function useSearch(flow: Flow, wanted: Wanted): SearchControls {
  const [told, setTold] = useState("");
  const abort = useRef<AbortController>(undefined);
  const change: SearchControls["change"] = (changes) => {
    abort.current?.abort();
    setTold("");
    if (currentPlace.value) go(withQuery(currentPlace.value, changes), "replace");
  };
  const find = (backwards: boolean) => {
    if (wanted.text === "") return setTold("Nothing to search for: / leads to the field.");
    abort.current?.abort();
    const own = new AbortController();
    abort.current = own;
    setTold("Searching …");
    // Before the first row is behind none.
    const from = flow.selection?.row ?? (backwards ? flow.thread.rows : 0);
    ask<SnapshotViewFindAnswer>(
      viewPath(flow.source.id, "/find"),
      findParams(flow.source, wanted, from, backwards),
      own.signal,
    ).then(
      (answer) => setTold(shown(flow, answer, wanted, backwards)),
      (error: AskError) => {
        if (!own.signal.aborted) setTold(error.message);
      },
    );
  };
  return { wanted, told, find, change };
}

function shown(flow: Flow, { row, call }: SnapshotViewFindAnswer, { text, kind }: Wanted, backwards: boolean): string {
  if (row === undefined) {
    const what = kind === "function" ? `call of a function with “${text}”` : `instruction with “${text}”`;
    return `No ${what} ${backwards ? "before" : "behind"} ${flow.selection ? "the selected one" : "here"}.`;
  }
  flow.select(call ? { row, depth: call.depth } : { row });
  return `Row ${row.toLocaleString("en")}.`;
}

export function Search({ controls, field }: { controls: SearchControls; field: RefObject<HTMLInputElement | null> }) {
  const { wanted, told, find, change } = controls;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") field.current?.blur();
    if (event.key !== "Enter") return;
    event.preventDefault();
    find(event.shiftKey);
  };
  return (
    <div class="flow-search" role="search">
      <select
        aria-label="Search in"
        value={wanted.kind}
        onChange={(event) => change({ in: event.currentTarget.value === "text" ? "text" : "" })}
      >
        <option value="function">function</option>
        <option value="text">instruction</option>
      </select>
      <input
        ref={field}
        type="search"
        aria-label="Search"
        placeholder={wanted.kind === "text" ? "lock cmpxchg (/)" : "a function’s name (/)"}
        value={wanted.text}
        onInput={(event) => change({ find: event.currentTarget.value })}
        onKeyDown={onKeyDown}
      />
      <button onClick={() => find(true)} title="Match before (,)" aria-label="Match before">
        ↑
      </button>
      <button onClick={() => find(false)} title="Next match (.)" aria-label="Next match">
        ↓
      </button>
      <span class="flow-told faint" role="status">
        {told}
      </span>
    </div>
  );
}
