// How the values of one attribute lie over time, each a strip below the heatmap and in its time: which version is slow,
// and since when.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAnswer, type Answer } from "@/api/answer";
import type { AttributeKeysAnswer, DifferencesAnswer } from "@/api/generated/answers";
import { Canvas, type Painter } from "@/draw/canvas";
import { formatCount, formatShare } from "@/parts/figures";
import { isDark } from "@/state/appearance";
import { formatDuration, type Zone } from "@/time/nano";
import { canBeAsked } from "./attribute_path";
import { withCondition } from "./conditions";
import { instantWriter } from "./describe";
import type { Show } from "./Explorer";
import { conditionOf } from "./condition_text";
import { slowestRow, type Heat } from "./heat";
import { Legend } from "./Picture";
import { paintStrip } from "./paint_strip";
import { rangeParams } from "@/time/range";
import { emptyText, inOrder, leftOutText, seenText, spreadOver, stripOf, type Strip } from "./spread";
import { timesOf } from "./selection_words";
import { useStripValues } from "./strip_values";
import { MOST_STRIPS, useValueHeats } from "./strips";
import type { Words } from "./words";

interface Props {
  readonly words: Words;
  readonly show: Show;
  readonly heat: Heat | undefined;
  /** The heatmap is of the question before, or is not to be had. */
  readonly stale: boolean;
  readonly differences: Answer<DifferencesAnswer> | undefined;
}

export function Spread({ words: chosen, show, heat: current, stale, differences }: Props) {
  const heat = useSettled(current, chosen.follow);
  const keys = useAnswer<AttributeKeysAnswer>(heat && "attributes", rangeParams(chosen.range)).data?.keys;
  const spread = spreadOver(chosen.spread, keys, differences?.data?.differences ?? []);
  const words = useMemo(() => ({ ...chosen, spread }), [chosen, spread]);
  const { values, held, permit, some, error } = useStripValues(words, heat, differences);
  const found = useValueHeats(words, heat, values);
  const slowAbove = heat && slowBound(heat, words);
  const strips = useMemo(
    () => inOrder(found.heats.map(({ value, heat: one }) => ({ value, strip: stripOf(one, slowAbove ?? Infinity) }))),
    [found, slowAbove],
  );
  const more = some || strips.length >= MOST_STRIPS;
  const leftOut = heat && found.done ? leftOutText({ spread, strips, spans: heat.spans, some: more }) : undefined;
  return (
    <div class="spread">
      <div class="spread-head">
        <Choice keys={keys ?? []} spread={spread} choose={(key) => show({ ...chosen, spread: key })} />
        {spread !== "" && slowAbove !== undefined && (
          <span class="faint">
            <span class="swatch selected" aria-hidden="true" /> over {formatDuration(slowAbove)}{" "}
            <span class="swatch heat" aria-hidden="true" /> the others{words.service === "" && ", of all services"}
          </span>
        )}
        {heat && <Legend />}
      </div>
      {spread !== "" && heat && (
        <div
          class="strips"
          data-done={found.done}
          tabIndex={0}
          role="region"
          aria-label={`Values of ${spread} over time`}
        >
          {strips.map(({ value, strip }) => (
            <ValueStrip
              key={value}
              {...{ value, strip, heat, zone: words.zone }}
              choose={() => show(withCondition(chosen, conditionOf(spread, value)))}
            />
          ))}
          {leftOut && <p class="faint strips-left-out">{leftOut}</p>}
          {held && (
            <p class="strips-held">
              <button onClick={permit}>Look at each value of {spread}</button>{" "}
              <span class="faint">takes some seconds: each is a heatmap of {formatCount(heat.spans)} spans</span>
            </p>
          )}
          {!held && strips.length === 0 && (
            <p class="faint">{emptyText({ spread, some, failed: error ?? found.error, done: !stale && found.done })}</p>
          )}
        </div>
      )}
    </div>
  );
}

function slowBound(heat: Heat, { selection }: Words): number | undefined {
  if (selection) return Math.max(selection.minNano - 1, 0);
  const row = slowestRow(heat);
  return row === undefined ? undefined : heat.bounds[row];
}

const SETTLED_MILLISECONDS = 30_000;

/** While one follows live, strips are made anew less often than the heatmap. */
function useSettled(heat: Heat | undefined, follow: boolean): Heat | undefined {
  const kept = useRef({ heat, at: 0 });
  const [, wake] = useState(0);
  useEffect(() => wake((round) => round + 1), [follow]);
  const old = performance.now() - kept.current.at > SETTLED_MILLISECONDS;
  if (heat !== kept.current.heat && (!follow || old)) kept.current = { heat, at: performance.now() };
  return kept.current.heat;
}

// A key of thousands would make the list as wide.
const MOST_LETTERS = 60;

function Choice({ keys, spread, choose }: { keys: readonly string[]; spread: string; choose: (key: string) => void }) {
  const all = [...new Set([...(spread ? [spread] : []), ...keys.filter(canBeAsked)])].sort();
  return (
    <label>
      Over time, by{" "}
      <select value={spread} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">nothing</option>
        {all.map((key) => (
          <option key={key} value={key}>
            {key.length > MOST_LETTERS ? `${key.slice(0, MOST_LETTERS)}…` : key}
          </option>
        ))}
      </select>
    </label>
  );
}

interface StripProps {
  readonly value: string;
  readonly strip: Strip;
  readonly heat: Heat;
  readonly zone: Zone;
  readonly choose: () => void;
}

// One slow span of four says nothing.
const FEWEST_TOLD = 20;

function ValueStrip({ value, strip, heat, zone, choose }: StripProps) {
  const dark = isDark.value;
  const paint = useCallback<Painter>(
    (context, w, h) => paintStrip(context, w, h, strip, heat, zone),
    [strip, heat, zone, dark],
  );
  const at = instantWriter(timesOf(heat), heat.stepNano, zone);
  const share = strip.spans > 0 ? strip.slowSpans / strip.spans : 0;
  return (
    <div class="strip">
      <div class="strip-head">
        <button class="plain" title="look at these only" onClick={choose}>
          <b>{value || "(empty)"}</b>
        </button>
        <span class={share >= 0.1 && strip.spans >= FEWEST_TOLD ? "selected-text" : "faint"}>
          {formatShare(share)} slow
        </span>
        <span class="faint">of {formatCount(strip.spans)}</span>
        <span class="seen">{seenText(strip, heat, at)}</span>
      </div>
      <Canvas paint={paint} class="strip-canvas" aria-hidden="true" />
    </div>
  );
}
