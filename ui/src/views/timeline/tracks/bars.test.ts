import { expect, it } from "vitest";
import type { TimelineSpan, TimelineThread } from "@/api/generated/answers";
import { colorsOf } from "@/draw/service_color";
import { answerOf, spanOf, stateOf, threadOf } from "../testing";
import { mergedText, whyUnknown } from "./bars";
import { withAlpha } from "@/draw/brush";
import type { Track } from "./track";
import { tracksOf } from "./tracks";

function trackOf(kind: string, thread: Partial<TimelineThread>, spans: TimelineSpan[] = []): Track {
  const known = { unknownOfKernel: [], unknownOfEvents: [], edges: [] };
  const source = { answer: answerOf(), service: "checkout", colors: colorsOf([]), spans, ...known };
  const track = tracksOf({ ...source, thread: threadOf(thread) }).find((one) => one.kind === kind);
  if (!track) throw new Error(`no track of ${kind}`);
  return track;
}

it("tells what a merged pixel stands for, by shares of time", () => {
  const track = trackOf("states", { states: [stateOf("running", 0, 30), stateOf("sleeping", 30, 100)] });
  const hit = track.hit({ begin: 0, duration: 1e6 }, 1000, 0, 5);
  expect(hit && mergedText(track, hit)).toBe("2 states in 100 ns: sleeping 70 %, running 30 %");
});

it("chooses the longest of what is merged, and nothing where nothing is", () => {
  const track = trackOf("states", { states: [stateOf("running", 0, 30), stateOf("sleeping", 30, 100)] });
  expect(track.hit({ begin: 0, duration: 1e6 }, 1000, 0, 5)?.item).toBe(1);
  expect(track.hit({ begin: 0, duration: 1e6 }, 1000, 500, 5)).toBeUndefined();
  expect(track.hit({ begin: 0, duration: 1e6 }, 1000, 0, track.height + 1)).toBeUndefined();
});

it("has a track of what was left out, and says how much that is", () => {
  const gap = { items: "system_calls", count: 1234, offset_nano: 100, duration_nano: 50 } as const;
  const track = trackOf("calls", { gaps: [gap] });
  expect(track.height).toBeGreaterThan(0);
  expect(whyUnknown(track, 120)).toContain("1,234 left out");
  expect(whyUnknown(track, 200)).toBeUndefined();
});

it("describes a system call with its arguments in both ways, and its error", () => {
  const call = { offset_nano: 5, duration_nano: 10, name: "read", number: 0, arguments: ["3", "4096"], result: -11 };
  const told = trackOf("calls", { system_calls: [{ ...call, error: "EAGAIN" }] }).describe({ row: 0, item: 0 });
  expect(told).toMatchObject({ title: "read", begin: 5, end: 15 });
  expect(told.facts).toContainEqual({ label: "argument 2", value: "4096 (0x1000)" });
  expect(told.facts).toContainEqual({ label: "error", value: "EAGAIN" });
});

it("tells what a futex was to do", () => {
  const call = { offset_nano: 5, duration_nano: 10, name: "futex", number: 202, arguments: ["4096", "128"], result: 0 };
  const told = trackOf("calls", { system_calls: [{ ...call, operation: "FUTEX_WAIT_PRIVATE" }] });
  expect(told.describe({ row: 0, item: 0 }).facts).toContainEqual({ label: "operation", value: "FUTEX_WAIT_PRIVATE" });
});

it("names both threads of a span that ended on another one than it started on", () => {
  const facts = (span: TimelineSpan) => trackOf("spans", {}, [span]).describe({ row: 0, item: 0 }).facts;
  expect(facts(spanOf({ start_tid: 7, end_tid: 8 }))).toContainEqual({
    label: "threads",
    value: "started on 7, ended on 8",
  });
  expect(facts(spanOf({})).map(({ label }) => label)).not.toContain("threads");
});

it("keeps a pixel's colour, and changes its alpha alone", () => {
  expect(withAlpha(0xff112233, 0.4).toString(16)).toBe("66112233");
  expect(withAlpha(0xff112233, 1)).toBe(0xff112233);
});
