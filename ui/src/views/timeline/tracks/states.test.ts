import { expect, it } from "vitest";
import { stateOf } from "../testing";
import { describeState, waitLine } from "./states";

const factsOf = (more: Parameters<typeof stateOf>[3]) => describeState(stateOf("runnable", 0, 600, more)).facts;

it("calls a wait preempted only where no quota can be the reason", () => {
  expect(factsOf({ preempted: true })).toEqual([{ label: "preempted", value: "it would have run on" }]);
  expect(factsOf({ throttled: "possible" })[0]?.value).toBe("preempted or throttled by a CPU quota");
  expect(factsOf({ throttled: "likely" })[0]?.value).toContain("its processor was idle");
  expect(factsOf({})).toEqual([]);
});

it("tells in a line of a wait that it was guessed", () => {
  const line = (guessed: boolean) => waitLine(stateOf("sleeping", 0, 5000, { in: "futex", guessed }));
  expect([true, false].map(line)).toEqual(["sleeping 5 µs (guessed) in futex", "sleeping 5 µs in futex"]);
});
