// A timeline's answer with as many items as are asked for, as a busy system has them: threads that run for
// microseconds and wait for milliseconds, with system calls, page faults and events.

const STATES = ["running", "sleeping", "runnable", "running", "uninterruptible", "runnable"];
const CALLS = ["futex", "epoll_wait", "read", "write", "sendmsg"];

/** Its own numbers, so that every run draws the same. */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

function thread(tid, items, duration, next) {
  const step = duration / (items * 0.5);
  const told = { states: [], system_calls: [], page_faults: [], events: [] };
  for (let at = 0, index = 0; index < items / 2; ++index) {
    const end = Math.round(Math.min(duration, (index + 0.5 + next() / 2) * step));
    const state = STATES[index % STATES.length];
    told.states.push({
      state,
      offset_nano: at,
      duration_nano: end - at,
      ...(state === "running" ? { cpu: index % 8 } : {}),
    });
    if (index % 2 === 0) told.system_calls.push(call(at, end, index));
    else if (index % 4 === 1)
      told.page_faults.push({ offset_nano: at, address: "4096", instruction: "8192", write: true });
    else
      told.events.push({
        offset_nano: at,
        span_id: "00f067aa0ba902b7",
        name: `step.${index % 7}`,
        file: "a.cc",
        line: 7,
        values: {},
      });
    at = end;
  }
  return { ...frame(tid, duration), ...told };
}

function call(begin, end, index) {
  const name = CALLS[(index / 2) % CALLS.length];
  return { offset_nano: begin, duration_nano: end - begin, name, number: 1, arguments: ["1", "2"], result: 0 };
}

function frame(tid, duration) {
  const span = { service: "load", kind: "internal", status: "unset", parent_span_id: "" };
  const spans = [
    { ...span, span_id: `${tid}`.padStart(16, "0"), operation: "work", offset_nano: 0, duration_nano: duration },
  ];
  return {
    tid,
    name: "worker",
    of_trace: true,
    offset_nano: 0,
    duration_nano: duration,
    spans,
    other_events: 0,
    left_out: 0,
  };
}

export function busyTimeline(items, threads = 16, duration = 10_000_000_000) {
  const next = numbers(7);
  const each = Array.from({ length: threads }, (_, index) => thread(1000 + index, items / threads, duration, next));
  const process = {
    host_name: "busy",
    service: "load",
    pid: 1000,
    captures: [],
    spans: [],
    other_threads: 0,
    threads: each,
  };
  return {
    trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
    start_time_unix_nano: "1795226400000000001",
    duration_nano: duration,
    complete: true,
    truncated: false,
    left_out: 0,
    captures: [],
    processes: [process],
  };
}
