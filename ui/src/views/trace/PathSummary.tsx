// Where the time went: what is shown while no span is selected.
import { useMemo } from "preact/hooks";
import { printable } from "@/parts/printable";
import { isDark } from "@/state/appearance";
import { formatDuration } from "@/time/nano";
import { Breakable } from "./Breakable";
import type { Actions } from "./actions";
import { contributions, percent, shareOf, type Contribution } from "./contributions";
import type { SpanNode } from "./tree";
import { durationOf, isError, nodeAt } from "./tree";
import { nameOf } from "./model";

const MOST_SHOWN = 12;

export function PathSummary({ act }: { act: Actions }) {
  const { tree, path } = act.model;
  const all = useMemo(() => contributions(tree, path), [tree, path]);
  const beyond = path.root === undefined ? 0 : tree.durationNano - nodeAt(tree, path.root).endNano;
  return (
    <>
      <h2>Where the time went</h2>
      <p class="faint">
        The critical path: what the request waited for at each moment, {formatDuration(path.totalNano)} in all, by
        operation.
      </p>
      <ol class="contributions">
        {all.slice(0, MOST_SHOWN).map((one) => (
          <ContributionRow key={`${one.service}\n${one.operation}`} one={one} act={act} />
        ))}
      </ol>
      {all.length > MOST_SHOWN && (
        <p class="faint">
          and {all.length - MOST_SHOWN} more, of{" "}
          {percent(all.slice(MOST_SHOWN).reduce((sum, one) => sum + one.share, 0))} together
        </p>
      )}
      {path.uncoveredNano > 0 && (
        <p class="note">
          In {formatDuration(path.uncoveredNano)} ({percent(shareOf(path, path.uncoveredNano))}) no span of the trace
          was under way.
        </p>
      )}
      {beyond > 0 && beyond > 0.001 * path.totalNano && (
        <p class="note">
          The trace goes on for {formatDuration(beyond)} after its root has ended; that is not on the path.
        </p>
      )}
    </>
  );
}

function ContributionRow({ one, act }: { one: Contribution; act: Actions }) {
  return (
    <li>
      <button class="contribution" onClick={() => act.select(one.greatest)}>
        <i class="contribution-bar" style={{ width: `${one.share * 100}%` }} />
        <span class="contribution-share">{percent(one.share)}</span>
        <span class="contribution-name">
          <i class="chip" style={{ background: act.model.colors(one.service, isDark.value) }} />
          <span>
            <Breakable text={printable(one.operation)} /> <span class="faint">{one.service}</span>
            {one.spans > 1 && (
              <span class="faint">
                {" "}
                × {one.onPath}
                {one.onPath < one.spans && ` of ${one.spans}`}
              </span>
            )}
          </span>
        </span>
        <span class="contribution-time">{formatDuration(one.ownNano)}</span>
      </button>
    </li>
  );
}

/** Of a folded run: what its spans are together, and which of them are worth a look. */
export function RunDetail({ act, run }: { act: Actions; run: readonly number[] }) {
  const { tree, path } = act.model;
  const members = run.map((index) => nodeAt(tree, index));
  const first = members[0];
  if (!first?.span) return null;
  const sum = members.reduce((nano, node) => nano + durationOf(node), 0);
  const own = run.reduce((nano, index) => nano + (path.ownNano[index] ?? 0), 0);
  const longest = [...members].sort((one, other) => durationOf(other) - durationOf(one)).slice(0, 10);
  return (
    <>
      <h2>
        {run.length} × {nameOf(first.span)}
      </h2>
      <p class="faint">{first.span.service} · one after the other, below the same span</p>
      <dl class="facts">
        <RunFact name="Together" value={formatDuration(sum)} />
        <RunFact name="On average" value={formatDuration(sum / run.length)} />
        <RunFact
          name="Add to the path"
          value={`${formatDuration(own)} · ${percent(shareOf(path, own))} of the request`}
        />
        <RunFact name="Errors" value={members.filter(isError).length.toString()} />
      </dl>
      <h3>The longest</h3>
      <Longest act={act} longest={longest} />
    </>
  );
}

function RunFact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Longest({ act, longest }: { act: Actions; longest: readonly SpanNode[] }) {
  return (
    <ul class="plain">
      {longest.map((node) => (
        <li key={node.key}>
          <button class="link" onClick={() => act.select(node.index)}>
            {formatDuration(durationOf(node))}
          </button>{" "}
          <span class="faint">at +{formatDuration(node.startNano)}</span>{" "}
          {isError(node) && <span class="tag bad">error</span>}
        </li>
      ))}
    </ul>
  );
}
