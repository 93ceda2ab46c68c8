// What goes along from one view to another: the time that is looked at, whose clock it is read by, and the service. A view
// whose address has such a word shows it, or keeps it for the way back. What the address of the other view says itself goes
// before all that.
import type { Place, View } from "./place";

type Words = readonly string[];

const CLOCK: Words = ["zone"];
// One group: a begin with another end would be another range.
const TIME: Words = ["since", "from", "to"];
const SERVICE: Words = ["service"];

/** What each view's address has of it; a snapshot's "from" and "to" are patterns, and times of the list are its own. */
const GROUPS: Readonly<Record<View, readonly Words[]>> = {
  explore: [CLOCK, TIME, SERVICE],
  services: [CLOCK, TIME, SERVICE],
  captures: [CLOCK, TIME, SERVICE],
  nodes: [CLOCK, TIME],
  trace: [CLOCK, TIME],
  timeline: [CLOCK, TIME],
  capture: [CLOCK, TIME],
  snapshots: [CLOCK],
  snapshot: [CLOCK],
};

export function isSame(one: Place, other: Place): boolean {
  return one.view === other.view && one.id === other.id;
}

/** The place as one comes to it from another. Within one view the reader changes words, so nothing is added. */
export function onward(from: Place | undefined, to: Place): Place {
  return from && !isSame(from, to) ? withWordsOf(from, to) : to;
}

/** As the tabs lead there: from a view to itself, too, the time is kept. */
export function withWordsOf(from: Place, to: Place): Place {
  // What is of one trace is of any time.
  const wanted = to.query["trace_id"] ? [CLOCK] : GROUPS[to.view];
  const taken = wanted.filter((group) => GROUPS[from.view].includes(group) && !saysAny(to, group));
  const words = taken.flat().flatMap((word) => {
    const value = from.query[word];
    return value === undefined ? [] : [[word, value] as const];
  });
  return words.length === 0 ? to : { ...to, query: { ...to.query, ...Object.fromEntries(words) } };
}

function saysAny({ query }: Place, group: Words): boolean {
  return group.some((word) => query[word] !== undefined);
}
