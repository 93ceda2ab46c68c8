// The buttons above the waterfall; each has a key, too.
import type { RefObject } from "preact";
import { useKeys } from "@/keys/keys";
import { go, place } from "@/state/navigation";
import { withQuery } from "@/state/place";
import type { Actions } from "./actions";
import type { Hits } from "./search";
import { isWhole } from "./timeWindow";
import { USUAL } from "./Comparison";
import { subjectOf } from "./usual";

interface Props {
  readonly act: Actions;
  readonly hits: Hits;
  readonly search: RefObject<HTMLInputElement | null>;
}

export function Toolbar({ act, hits, search }: Props) {
  const { follow, clock, folding } = act.choices.words.value;
  const measured = act.model.answer.spans.some((span) => span.clock);
  return (
    <div class="trace-toolbar" role="toolbar" aria-label="The waterfall">
      <SearchField act={act} hits={hits} field={search} />
      <span class="button-group">
        <button onClick={() => act.levels(-1)} title="One level less  [" aria-label="One level less">
          −
        </button>
        <span class="faint">{folding.depth === undefined ? "all levels" : `${folding.depth + 1} levels`}</span>
        <button onClick={() => act.levels(1)} title="One level more  ]" aria-label="One level more">
          +
        </button>
      </span>
      <button aria-pressed={!folding.runsOpen} onClick={() => act.toggleRuns()} title="Repeated siblings as one row  r">
        Fold repeats
      </button>
      {measured && (
        <button
          aria-pressed={clock === "corrected"}
          onClick={() => act.toggleClock()}
          title="Or times as they were sent  t"
        >
          Corrected clocks
        </button>
      )}
      <button
        disabled={isWhole(act.window, act.model.tree.durationNano)}
        onClick={() => act.showAll()}
        title="All of the time  0"
      >
        All time
      </button>
      <button aria-pressed={follow} onClick={() => act.toggleFollow()} title="Ask again every two seconds  f">
        Follow
      </button>
      <Usual act={act} />
    </div>
  );
}

function SearchField({ act, hits, field }: { act: Actions; hits: Hits; field: RefObject<HTMLInputElement | null> }) {
  const { find } = act.choices.words.value;
  const { nodes, inNames } = hits;
  const node = act.found?.node ?? -1;
  const nth = nodes.indexOf(node) + 1;
  const where = nth > 0 ? act.model.search.whereFound(node, find) : undefined;
  const key = (event: KeyboardEvent) => {
    if (event.key === "Enter") act.stepToHit(!event.shiftKey);
    else if (event.key === "Escape") field.current?.blur();
    else return;
    event.preventDefault();
  };
  return (
    <span class="button-group search">
      <input
        ref={field}
        type="search"
        aria-label="Search in this trace"
        placeholder="Search in this trace"
        value={find}
        onInput={(event) => act.choices.change({ find: event.currentTarget.value })}
        onKeyDown={key}
      />
      <span class="hit-count" role="status">
        {find.trim() !== "" && (nth > 0 ? `${nth} of ${nodes.length}` : `${nodes.length} found`)}
      </span>
      <button
        onClick={() => act.stepToHit(false)}
        disabled={nodes.length === 0}
        aria-label="Found before"
        title="Found before  N"
      >
        ↑
      </button>
      <button
        onClick={() => act.stepToHit(true)}
        disabled={nodes.length === 0}
        aria-label="Next found"
        title="Next found  n"
      >
        ↓
      </button>
      {find.trim() !== "" && nodes.length > 0 && (
        <span class="faint found-where">
          {where ? `in ${where}` : inNames > 0 && inNames < nodes.length && `${inNames} by name, these first`}
        </span>
      )}
    </span>
  );
}

function Usual({ act }: { act: Actions }) {
  const { answer, tree, path } = act.model;
  const subject = subjectOf(answer.trace_id, tree, path.root);
  const compare = () => {
    const here = place.peek();
    if (subject && here?.view === "trace") go(withQuery(here, { compare: USUAL }));
  };
  useKeys("Another trace", [{ key: "u", what: "compare with usual ones", run: compare }]);
  return (
    <button onClick={compare} hidden={!subject} title={`With those of ${subject?.operation} of its median duration  u`}>
      Compare with usual ones
    </button>
  );
}
