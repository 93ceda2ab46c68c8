// The explorer: a heatmap of durations over time; what is selected in it is listed, and compared with the rest.
import type { VNode } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { HeatmapAnswer } from "@/api/generated/answers";
import { useAnswer } from "@/api/answer";
import type { AskError } from "@/api/ask";
import { Problem } from "@/parts/Problem";
import { go } from "@/state/navigation";
import { nowUnixNano } from "@/time/nano";
import type { Place } from "@/state/place";
import { DEFAULT_RANGE, type Range } from "@/time/range";
import { Bar } from "./Bar";
import { Differences, useDifferences } from "./Differences";
import { fittingRange, saysTime } from "./fitting_range";
import { heatOf, type Heat } from "./heat";
import { useLists } from "./lists";
import { Picture } from "./Picture";
import { SelectionNotice } from "./SelectionNotice";
import { ServiceTable } from "./ServiceTable";
import { SlowList } from "./SlowList";
import { Spread } from "./Spread";
import { readWords, viewParams, writeWords, type Words } from "./words";
import "./explore.css";

export type Show = (words: Words, how?: "push" | "replace") => void;

const FOLLOW_MILLISECONDS = 5000;

/** About one column per six pixels; the same for windows of about the same width. */
function columnsFor(width: number): number {
  return width < 900 ? 90 : width < 1800 ? 120 : 240;
}

export function Explorer({ place }: { place: Place }) {
  const words = useMemo(() => readWords(place.query), [place]);
  const show: Show = (next, how) => go({ view: "explore", query: writeWords(next) }, how);
  const columns = useMemo(() => columnsFor(window.innerWidth), []);
  const every = words.follow ? FOLLOW_MILLISECONDS : 0;
  const answer = useAnswer<HeatmapAnswer>("heatmap", { ...viewParams(words), columns, rows: 40 }, every);
  const heat = useMemo(() => answer.data && heatOf(answer.data), [answer.data]);
  useFittingRange(place, answer.stale ? undefined : heat, (range) => show({ ...words, range }, "replace"));
  // The heatmap goes before all else: nothing is asked beside it until it is there.
  const ready = heat !== undefined || answer.error !== undefined;
  const lists = useLists(words, ready, every);
  const differences = useDifferences(words, heat);
  const refused = refusedConditions(words, answer.error);
  return (
    <>
      <h1 class="visually-hidden">Explore</h1>
      <Bar {...{ words, show, lists }} refused={refused} />
      <SelectionNotice
        {...{ words, show }}
        heat={answer.stale ? undefined : heat}
        selected={differences?.own.stale ? undefined : differences?.own.data?.selected.spans}
      />
      {answer.error && !refused && <Problem error={answer.error} again={answer.again} />}
      <div class="explore">
        <Picture words={words} show={show} heat={heat} stale={answer.stale} failed={answer.error !== undefined}>
          <Spread
            {...{ words, show, heat }}
            differences={differences?.own}
            stale={answer.stale || answer.error !== undefined}
          />
        </Picture>
        {beside(
          words.selection !== undefined,
          <ServiceTable key="services" words={words} show={show} lists={lists} />,
          <SlowList key="slow" show={show} {...{ words, heat, lists }} failed={answer.error !== undefined} />,
          <Differences
            {...{ words, show, answer: differences }}
            key="differences"
            heat={answer.stale ? undefined : heat}
          />,
        )}
      </div>
    </>
  );
}

// Whoever comes back to an hour afterwards has chosen it.
let isFirstPicture = true;

function useFittingRange({ query }: Place, heat: Heat | undefined, choose: (range: Range) => void): void {
  useEffect(() => {
    if (!heat || heat.spans === 0 || !isFirstPicture) return;
    isFirstPicture = false;
    const range = saysTime(query) ? undefined : fittingRange(DEFAULT_RANGE, heat, nowUnixNano());
    if (range) choose(range);
  }, [heat]);
}

/** What the server has against the conditions is said beside them. */
function refusedConditions({ where }: Words, error: AskError | undefined): string | undefined {
  return where.length > 0 && error?.status === 400 && /where|condition/.test(error.message) ? error.message : undefined;
}

// What one looks for next stands beside the picture: services at first, then how the selection differs.
function beside(selected: boolean, services: VNode, slow: VNode, differences: VNode): VNode[] {
  return selected ? [differences, slow, services] : [services, slow, differences];
}
