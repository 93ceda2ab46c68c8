// All that is known of the chosen item.
import type { ComponentChildren } from "preact";
import type { TimelineState, TimelineWaker } from "@/api/generated/answers";
import { formatDuration, formatExactNano, formatInstant } from "@/time/nano";
import { partsOfLayout, type Layout } from "./layout";
import type { Model } from "./model";
import { describe, findThreadAt, type Found, type Selection } from "./selection";
import { wakersOf, wakerText, type WakerLink } from "./wakers";
import { WaitList } from "./WaitList";
import { TimeShare, Swatch } from "./TimeShare";
import { waitLine } from "./tracks/states";
import { whyUnknownIn } from "./unknown_parts";
import { toggleAll } from "./useBoardKeys";

interface Props {
  readonly selection: Selection;
  readonly model: Model;
  readonly layout: Layout;
  readonly choose: (next: Selection | undefined) => void;
  readonly chooseFound: (found: Found | undefined) => void;
}

export function Details({ selection, model, layout, choose, chooseFound }: Props) {
  const told = describe(selection);
  const { process, lane } = partsOfLayout(layout, selection.strip);
  return (
    <>
      <div class="timeline-details-head">
        <h2>{told.title}</h2>
        <button onClick={() => choose(undefined)} aria-label="Choose nothing">
          ×
        </button>
      </div>
      <p class="faint">{told.what}</p>
      <dl class="timeline-facts">
        {told.end > told.begin && (
          <Row label="lasted">{told.cut ? `at least ${lengthOf(told)}; ${told.cut}` : lengthOf(told)}</Row>
        )}
        <Row label={told.end > told.begin ? "begins after" : "after"}>{exactly(told.begin)}</Row>
        <Row label="at">
          {!isExact(told.begin) && "about "}
          {formatInstant(model.start + BigInt(Math.round(told.begin)), 9)}
        </Row>
        {lane && lane.key !== "?" && (
          <Row label="thread">
            {lane.name} {lane.key}
          </Row>
        )}
        {process && (
          <Row label="process">
            {process.process.service} {process.process.pid} at {process.process.host_name}
          </Row>
        )}
        {told.facts.map(({ label, value, href }, at) => (
          <Row key={`${label} ${at}`} label={label}>
            {href ? <a href={href}>{value}</a> : value}
          </Row>
        ))}
      </dl>
      {told.waker && <Wakers links={wakersOf(model, told)} model={model} chooseFound={chooseFound} />}
      {told.totals && (
        <TimeShare totals={told.totals} why={whyUnknownIn(model, selection.strip, told.begin, told.end)} />
      )}
      {told.longestWait && (
        <LongestWait wait={told.longestWait} selection={selection} model={model} chooseFound={chooseFound} />
      )}
      {told.waits && <WaitList waits={told.waits} selection={selection} model={model} chooseFound={chooseFound} />}
    </>
  );
}

function Row({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

// Offsets beyond 2^53 have lost their last digits, and so has what lies between two of them.
function isExact(offset: number): boolean {
  return Number.isSafeInteger(Math.round(offset));
}

function lengthOf({ begin, end }: { readonly begin: number; readonly end: number }): string {
  return isExact(begin) && isExact(end) ? exactly(end - begin) : `about ${formatDuration(end - begin)}`;
}

function exactly(nano: number): string {
  const short = formatDuration(nano);
  const exact = formatExactNano(nano);
  return short === exact ? exact : `${short} (${exact})`;
}

// Of a process that was captured, but not among the threads that are listed.
function isHidden(model: Model, { pid, tid }: TimelineWaker): boolean {
  return tid !== undefined && model.processes.some(({ process }) => process.pid === pid && process.other_threads > 0);
}

interface WakersProps extends Pick<Props, "model" | "chooseFound"> {
  readonly links: readonly WakerLink[];
}

/** Who woke it, whom that one had waited for, and so on to where it is not known any more. */
function Wakers({ links, model, chooseFound }: WakersProps) {
  return (
    <section>
      <h3>Woken by</h3>
      <ol class="timeline-wakers">
        {links.map(({ waker, at, ran, wait, waited }, nth) => (
          <li key={nth}>
            {wakerText(waker)} <span class="faint">at {formatDuration(at)}</span>{" "}
            {ran && <button onClick={() => chooseFound(ran)}>Go there{nth === 0 && " (u)"}</button>}
            {!ran && isHidden(model, waker) && <button onClick={toggleAll}>Show all threads (t)</button>}
            {wait && waited && (
              <div class="faint">
                that had waited itself: <Swatch state={wait.state} /> {waitLine(wait)}{" "}
                <button onClick={() => chooseFound(waited)}>Go there</button>
                {wait.waker ? ", woken by" : "; who woke it is not known"}
              </div>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

interface WaitProps extends Pick<Props, "selection" | "model" | "chooseFound"> {
  readonly wait: TimelineState;
}

function LongestWait({ wait, selection, model, chooseFound }: WaitProps) {
  const { processKey, laneKey } = selection.strip;
  const process = model.processes.find(({ key }) => key === processKey);
  const found =
    process && findThreadAt(model, process.process.pid, Number(laneKey), wait.offset_nano + wait.duration_nano / 2);
  return (
    <section>
      <h3>Longest wait</h3>
      <p>
        <Swatch state={wait.state} /> {waitLine(wait)}
        {wait.waker && `, ended by ${wakerText(wait.waker)}`}{" "}
        {found && <button onClick={() => chooseFound(found)}>Go there</button>}
      </p>
    </section>
  );
}
