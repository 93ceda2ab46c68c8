// What tests of timelines are put together from: the smallest answers that are whole.
import type {
  TimelineAnswer,
  TimelineCapture,
  TimelineProcess,
  TimelineSpan,
  TimelineState,
  TimelineThread,
} from "@/api/generated/answers";

export function captureOf(more: Partial<TimelineCapture> = {}): TimelineCapture {
  return {
    id: "c0",
    trace_id: "t0",
    node_id: "n0",
    host_name: "shop-1",
    service: "checkout",
    pid: 7,
    trigger: "slow",
    operation: "pay",
    span_id: "s0",
    start_time_unix_nano: "1795226400000000000",
    end_time_unix_nano: "1795226400000001000",
    received_unix_nano: "1795226401000000000",
    size_bytes: 100,
    damaged: false,
    truncated: false,
    crosses_clock_jump: false,
    losses: [],
    reason: "pay took 1 µs",
    process_ended: false,
    offset_nano: 0,
    duration_nano: 1000,
    trigger_offset_nano: 900,
    events_complete_from_offset_nano: 0,
    kernel_complete_from_offset_nano: 0,
    content_losses: [],
    ...more,
  };
}

export function spanOf(more: Partial<TimelineSpan> = {}): TimelineSpan {
  return {
    span_id: "s0",
    parent_span_id: "",
    service: "checkout",
    operation: "pay",
    kind: "server",
    status: "unset",
    offset_nano: 0,
    duration_nano: 1000,
    ...more,
  };
}

export function stateOf(state: TimelineState["state"], begin: number, end: number, more: Partial<TimelineState> = {}) {
  return { state, offset_nano: begin, duration_nano: end - begin, ...more };
}

export function threadOf(more: Partial<TimelineThread> = {}): TimelineThread {
  return {
    tid: 8,
    name: "worker",
    of_trace: true,
    offset_nano: 0,
    duration_nano: 1000,
    spans: [],
    events: [],
    states: [],
    system_calls: [],
    page_faults: [],
    other_events: 0,
    left_out: 0,
    ...more,
  };
}

export function processOf(more: Partial<TimelineProcess> = {}): TimelineProcess {
  return {
    host_name: "shop-1",
    service: "checkout",
    pid: 7,
    captures: [0],
    threads: [threadOf()],
    spans: [],
    other_threads: 0,
    ...more,
  };
}

export function answerOf(more: Partial<TimelineAnswer> = {}): TimelineAnswer {
  return {
    trace_id: "t0",
    start_time_unix_nano: "1795226400000000000",
    duration_nano: 1000,
    complete: true,
    truncated: false,
    left_out: 0,
    captures: [captureOf()],
    processes: [processOf()],
    ...more,
  };
}
