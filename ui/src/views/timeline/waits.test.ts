import { expect, it } from "vitest";
import { moreText, sumText, waitsOf } from "./waits";

const sleeps = {
  state: "sleeping",
  in: "clock_nanosleep",
  count: 101,
  total_nano: 518e6,
  longest_nano: 6.27e6,
  longest_offset_nano: 40,
} as const;

it("tells many short waits as one sum, with the longest", () => {
  expect(sumText(sleeps)).toBe("sleeping 518 ms in clock_nanosleep, 101 times (longest 6.27 ms)");
  expect(sumText({ ...sleeps, count: 1, guessed_nano: 518e6 })).toBe("sleeping 518 ms (guessed) in clock_nanosleep");
  expect(sumText({ ...sleeps, guessed_nano: 1e6 })).toContain("sleeping 518 ms (1 ms guessed) in");
});

it("calls waits preempted only where no quota can be the reason", () => {
  const queue = { state: "runnable", count: 1, total_nano: 5, longest_nano: 5, longest_offset_nano: 0 } as const;
  expect(sumText({ ...queue, preempted: true })).toBe("runnable 5 ns, preempted");
  expect(sumText({ ...queue, throttled: "possible" })).toBe("runnable 5 ns, preempted or throttled by a CPU quota");
});

it("tells what is not listed", () => {
  expect(waitsOf({ waits: [sleeps], more_waits: { count: 1200, total_nano: 3e6 } }).sums).toEqual([sleeps]);
  expect(moreText({ count: 1200, total_nano: 3e6 })).toBe("1,200 more, 3 ms together");
  expect(waitsOf({ waits_left_out: true })).toEqual({ sums: [], leftOut: true });
});
