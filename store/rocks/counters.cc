#include "store/rocks/counters.h"

#include <array>
#include <string>

namespace fathom::store {

namespace {

constexpr std::array kBoundsSeconds{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0};

}  // namespace

Counter& refused_batches(std::string_view reason) {
  return counter("fathom_store_refused_total", "Batches that the store refused for now; senders try again",
                 label("reason", reason));
}

Counter& dropped_spans(std::string_view reason) {
  return counter("fathom_dropped_spans_total", "Spans that retention dropped", label("reason", reason));
}

Counter& lost_index_values(std::string_view index) {
  return counter("fathom_lost_index_values_total", "Values of the index that did not decode", label("index", index));
}

Counter& lost_batches() {
  return counter("fathom_store_lost_batches_total", "Acknowledged batches that damage to the disk destroyed, at most");
}

Counter& cut_log_bytes() {
  return counter("fathom_store_cut_log_bytes_total", "Bytes of an incomplete last record that a start cut off a log");
}

Counter& damaged_reads() {
  return counter("fathom_store_damaged_reads_total",
                 "Reads of stored data, for answers or for sealing, that failed because it is damaged or unreadable");
}

Counter& seals_without_older_spans() {
  return counter("fathom_seals_without_older_spans_total",
                 "Traces whose newer spans were sealed without the older ones, which are damaged or unreadable");
}

Counter& duplicate_batches() {
  return counter("fathom_duplicate_batches_total", "Batches that were stored already and acknowledged again");
}

Counter& stored_spans() {
  static Counter& spans = counter("fathom_spans_stored_total", "Spans made durable");
  return spans;
}

Counter& trace_lookup_failures() {
  return counter("fathom_trace_lookup_failures_total",
                 "Look-ups of a trace's older spans that failed and are repeated");
}

Counter& seal_failures() {
  return counter("fathom_seal_failures_total", "Attempts to seal that failed and are repeated");
}

Gauge& corrected_traces() {
  return gauge("fathom_corrected_traces", "Traces that lost spans to retention and have others left");
}

Gauge& corrected_traces_in_memory() {
  return gauge("fathom_corrected_traces_in_memory", "Those of fathom_corrected_traces that are kept in memory");
}

Counter& seal_read_bytes() {
  return counter("fathom_seal_read_bytes_total",
                 "Bytes of older segments and of the trace index that sealing read to summarise traces that grew");
}

MetricHistogram& append_durations() {
  static MetricHistogram& durations =
      histogram("fathom_store_append_duration_seconds",
                "How long batches took to be durable, waiting for their turn included.", kBoundsSeconds);
  return durations;
}

MetricHistogram& write_durations() {
  static MetricHistogram& durations =
      histogram("fathom_store_write_duration_seconds",
                "How long groups of batches took to be written to the log, and synced.", kBoundsSeconds);
  return durations;
}

void register_counters() {
  for (const char* reason : {"queue_full", "not_writable", "sealing_behind", "lookup_failed", "write_failed"}) {
    refused_batches(reason);
  }
  for (const char* reason : {"age", "size"}) dropped_spans(reason);
  for (const char* limit : {"operations_per_service", "services", "catalogue_bytes", "listed_attribute_keys"})
    limited_parts(limit);
  for (const char* index : {"slow", "latency", "straddle", "corrected", "lost"}) lost_index_values(index);
  lost_batches();
  cut_log_bytes();
  damaged_reads();
  seals_without_older_spans();
  duplicate_batches();
  stored_spans();
  trace_lookup_failures();
  seal_failures();
  corrected_traces();
  corrected_traces_in_memory();
  seal_read_bytes();
  append_durations();
  write_durations();
}

}  // namespace fathom::store
