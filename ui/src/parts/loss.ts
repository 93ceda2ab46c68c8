// Losses by the names that agents count them under, in words; docs/formats/capture.md and docs/node-agent.md say what
// each means. Those of snapshots are words already.

export interface Loss {
  readonly name: string;
  readonly count: number;
}

const OF_KERNEL = "events of the kernel";
const NO_MEMORY = "events for which the program had no memory: FATHOM_DETAIL_MIB";
const TOO_LARGE = "of more than 8 KiB in one span";

const WORDS: Readonly<Record<string, string>> = {
  pool_full: "spans: the program's memory for them was full (FATHOM_POOL_MIB)",
  pool_not_ready: "spans of a program without shared memory",
  malformed_span: "spans that were no spans",
  unknown_type: "spans of a newer client",
  unfinished: "spans that a program did not finish writing when it ended",
  ended_program: "spans of programs that are over",
  refused: "spans that the server refused",
  spool_damaged: "spans that were damaged on the node's disk",
  attributes_too_large: `attributes ${TOO_LARGE}`,
  details_too_large: `events or links ${TOO_LARGE}`,
  value_cut: "values that were cut",
  malformed_item: "damaged parts of spans",
  unknown: "parts of spans that a newer client sent",
  abandoned_batch: "marks of what was read that no agent made",
  taken_over_pool: "programs that another agent began to read",
  endless_pool: "programs' memory written to after they had ended",
  no_room_pool: "ended programs of one user, too many",
  detail_ended_program: "ended programs whose events were let go early",
  event_no_chunk: NO_MEMORY,
  event_pool_not_ready: "events of a program without shared memory",
  event_discarded: "events behind those that were kept (FATHOM_DETAIL_MODE=discard)",
  event_text_cut: "texts of events, cut",
  event_tracepoints: "tracepoints beyond those that there is room for",
  event_unknown: "events of a newer client",
  capture_refused: "captures that the server refused",
  capture_no_room: "captures for which there was no room",
  capture_not_taken: "captures that the server did not take",
  capture_unsent: "captures that were not sent in time",
  snapshot_spool_full: "snapshots for which the node's disk had no room",
  snapshot_refused: "snapshots that the server refused",
  snapshot_damaged: "snapshots that were damaged on the node's disk",
  wild_count: "counts of losses that cannot be true",
  no_chunk: NO_MEMORY,
  no_pool: "events of a program without shared memory",
  discarded: "events behind those that were kept (FATHOM_DETAIL_MODE=discard)",
  cut_texts: "texts of events, cut",
  tracepoints: "tracepoints beyond those that there is room for",
  overwritten_chunks: "blocks of events, overwritten before they were copied",
  over_budget_chunks: "blocks of events, too much for one capture",
  over_budget_bytes: "bytes of events, too much for one capture",
  unreadable_chunks: "blocks of events that could not be read",
  kernel_overwritten: `${OF_KERNEL}, overwritten while they were read`,
  kernel_torn: `${OF_KERNEL}, begun and not finished`,
  kernel_left_out: `${OF_KERNEL}, left out beyond the limit`,
  kernel_no_slot: "begins of system calls for which there was no slot",
  kernel_missed: `${OF_KERNEL} that it did not tell`,
  over_limit_threads_events: "events of further threads, beyond the limit",
  over_limit_threads_kernel_events: `${OF_KERNEL} of further threads, beyond the limit`,
  over_limit_spans_events: "sets of spans of events, beyond the limit",
  over_limit_open_spans: "open spans, beyond the limit",
};

/** "spans: the program's memory for them was full"; of a name that is new here, its own words. */
export function lossWords(name: string): string {
  return WORDS[name] ?? name.replace(/_/g, " ");
}

/** "1,200 events of the kernel that it did not tell". */
export function lossText({ name, count }: Loss): string {
  return count === 1 ? `one of the ${lossWords(name)}` : `${count.toLocaleString("en")} ${lossWords(name)}`;
}
