import { expect, it } from "vitest";
import { modelOf } from "./model";
import { answerOf, captureOf, processOf, spanOf, stateOf, threadOf } from "./testing";

it("puts who was called first first, and threads of the trace before others", () => {
  const late = processOf({ pid: 2, captures: [], threads: [], spans: [spanOf({ offset_nano: 500 })] });
  const early = processOf({
    pid: 1,
    threads: [
      threadOf({ tid: 10, of_trace: false }),
      threadOf({ tid: 12, spans: [spanOf({ offset_nano: 20 })] }),
      threadOf({ tid: 11, spans: [spanOf({ offset_nano: 90 })] }),
    ],
  });
  const model = modelOf(answerOf({ processes: [late, early] }));
  expect(model.processes.map(({ key }) => key)).toEqual(["1@shop-1", "2@shop-1"]);
  expect(model.processes[0]?.lanes.map(({ key }) => key)).toEqual(["12", "11", "10"]);
  expect(model.processes[1]?.lanes.map(({ name }) => name)).toEqual(["thread not known"]);
});

it("leaves other threads in the server's order: those that ended waits of the request come first", () => {
  const threads = [
    threadOf({ tid: 12, spans: [spanOf()] }),
    threadOf({ tid: 30, of_trace: false, ended_waits_nano: 700 }),
    threadOf({ tid: 20, of_trace: false }),
  ];
  const model = modelOf(answerOf({ processes: [processOf({ threads })] }));
  expect(model.processes[0]?.lanes.map(({ key }) => key)).toEqual(["12", "30", "20"]);
});

it("has a track for what there is, and states of a thread of the trace even where nothing is known", () => {
  const thread = threadOf({
    spans: [spanOf()],
    states: [stateOf("running", 0, 400), stateOf("sleeping", 400, 1000)],
    page_faults: [{ offset_nano: 5, address: "1", instruction: "2" }],
  });
  const lanes = modelOf(answerOf({ processes: [processOf({ threads: [thread] })] })).processes[0]?.lanes;
  expect(lanes?.[0]?.tracks.map(({ kind }) => kind)).toEqual(["spans", "states", "faults"]);
  const bare = modelOf(answerOf({ processes: [processOf({ threads: [threadOf(), threadOf({ of_trace: false })] })] }));
  expect(bare.processes[0]?.lanes.map(({ tracks }) => tracks.length)).toEqual([1, 0]);
});

it("reaches as far as windows and triggers, and shows the trace", () => {
  const capture = captureOf({ offset_nano: -500, duration_nano: 2000, trigger_offset_nano: 4000 });
  const model = modelOf(answerOf({ captures: [capture] }));
  expect(model.whole).toEqual({ begin: 0, duration: 1000 });
  expect(model.bounds).toEqual({ begin: -500, duration: 4500 });
  expect(model.triggers).toEqual([{ at: 4000, why: "slow: pay took 1 µs" }]);
});

it("tells processes of one number on one host apart, and outlives a capture that cannot be read", () => {
  const { offset_nano: _, trigger_offset_nano: __, ...damaged } = captureOf({ problem: "its content is gone" });
  const model = modelOf(answerOf({ captures: [damaged], processes: [processOf(), processOf({ service: "other" })] }));
  expect(model.processes.map(({ key }) => key)).toEqual(["7@shop-1", "7@shop-1:1"]);
  expect(model.processes[0]?.captures).toBeUndefined();
});
