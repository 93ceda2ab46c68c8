// The bar above the heatmap: which spans, and of when.
import { Conditions } from "./Conditions";
import type { Show } from "./Explorer";
import { useKeys } from "@/keys/keys";
import { RangePicker } from "@/parts/RangePicker";
import type { Lists } from "./lists";
import { fitted } from "@/parts/shortened";
import { isBetween } from "@/time/range";
import { nowUnixNano } from "@/time/nano";
import { withChosenRange } from "./other_time";
import { withRange, type Words } from "./words";

export interface BarProps {
  readonly words: Words;
  readonly show: Show;
  readonly lists: Lists;
  readonly refused: string | undefined;
}

export function Bar(props: BarProps) {
  const { words, show } = props;
  return (
    <div class="explore-bar" role="search" aria-label="Which spans">
      <RangeChoice {...props} />
      <div class="explore-filters">
        <ServiceChoice {...props} />
        <OperationChoice {...props} />
        <label class="check">
          <input
            type="checkbox"
            checked={words.errors}
            onChange={(event) => show({ ...words, errors: event.currentTarget.checked })}
          />
          Errors only <kbd>e</kbd>
        </label>
        <Conditions words={words} show={show} refused={props.refused} />
      </div>
    </div>
  );
}

function RangeChoice({ words, show }: BarProps) {
  const { range, zone, follow } = words;
  // What ends at a fixed time has nothing to follow; another range would not be what the reader asked for.
  const fixed = isBetween(range);
  const toggle = () => !fixed && show({ ...withRange(words, range), follow: !follow });
  useKeys("Which spans", [
    { key: "l", what: "follow live, or not; of the last minutes or hours", run: toggle },
    { key: "e", what: "errors only, or all", run: () => show({ ...words, errors: !words.errors }) },
  ]);
  return (
    <div class="explore-range">
      <RangePicker
        range={range}
        zone={zone}
        chooseRange={(next) => show(withChosenRange(words, next, nowUnixNano()))}
        chooseZone={(next) => show({ ...words, zone: next })}
      >
        <button
          aria-pressed={follow}
          disabled={fixed}
          title={
            fixed ? "this range ends at a fixed time: choose one of the last … first" : "asked again every five seconds"
          }
          onClick={toggle}
        >
          Live <kbd>l</kbd>
        </button>
      </RangePicker>
    </div>
  );
}

function ServiceChoice({ words, show, lists }: BarProps) {
  const names = lists.services?.map(({ service }) => service) ?? [];
  const choose = (service: string): void => show({ ...words, service, operation: "" });
  return <Choice label="Service" any="all services" value={words.service} names={names} choose={choose} />;
}

function OperationChoice({ words, show, lists }: BarProps) {
  const names = lists.operations?.map(({ operation }) => operation) ?? [];
  const any = words.service ? "all operations" : "pick a service first";
  const choose = (operation: string): void => show({ ...words, operation });
  return <Choice label="Operation" any={any} value={words.operation} names={names} choose={choose} />;
}

/** What is chosen is seen in the field itself, which is wider in wide windows (explore.css); the list has room for all. */
function chosenLetters(): number {
  return window.innerWidth < 1800 ? 17 : 35;
}

interface ChoiceProps {
  readonly label: string;
  readonly any: string;
  readonly value: string;
  readonly names: readonly string[];
  readonly choose: (name: string) => void;
}

function Choice({ label, any, value, names, choose }: ChoiceProps) {
  const all = [...new Set(value ? [value, ...names] : names)].sort();
  return (
    <label class="choice">
      {label}
      <select
        title={value}
        value={value}
        disabled={all.length === 0}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        <option value="">{any}</option>
        {all.map((name) => (
          <option key={name} value={name}>
            {name === value ? fitted(name, chosenLetters()) : name}
          </option>
        ))}
      </select>
    </label>
  );
}
