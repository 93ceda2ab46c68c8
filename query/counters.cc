#include "query/counters.h"

#include <array>
#include <string>

#include "base/metrics.h"
#include "base/result.h"
#include "base/time.h"

namespace fathom::query {

namespace {

constexpr std::array kBoundsSeconds{0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 10.0};

constexpr std::array kQueries{"slowest",
                              "trace",
                              "trace_text",
                              "services",
                              "operations",
                              "attribute_keys",
                              "attribute_values",
                              "latency",
                              "heatmap",
                              "differences",
                              "graph",
                              "capture_request",
                              "tracepoints",
                              "tracepoint_rules",
                              "captures",
                              "capture",
                              "capture_content",
                              "timeline",
                              "perfetto",
                              "snapshots",
                              "snapshot",
                              "snapshot_bytes",
                              "image_bytes",
                              "snapshot_upload",
                              "image_upload",
                              "images_missing",
                              "snapshot_insns",
                              "snapshot_calls",
                              "snapshot_functions",
                              "snapshot_delta",
                              "snapshot_syscalls",
                              "snapshot_sunburst",
                              "snapshot_stats",
                              "snapshot_diff",
                              "snapshot_view",
                              "snapshot_view_calls",
                              "snapshot_view_insns",
                              "snapshot_view_stack",
                              "snapshot_view_find",
                              "snapshot_view_source"};
constexpr std::array kReasons{"queue_full", "stopping", "invalid", "not_found", "exhausted", "unsupported"};
constexpr std::array kFaults{ErrorCode::kInvalid,   ErrorCode::kNotFound,    ErrorCode::kUnavailable,
                             ErrorCode::kExhausted, ErrorCode::kDeadline,    ErrorCode::kCancelled,
                             ErrorCode::kCorrupt,   ErrorCode::kUnsupported, ErrorCode::kInternal};

Counter& refused(std::string_view reason) {
  return counter("fathom_query_refused_total", "Queries that were refused before they ran.", label("reason", reason));
}
Counter& requests(std::string_view query, std::string_view result) {
  return counter("fathom_query_requests_total", "Queries, by kind and result.",
                 label("query", query) + "," + label("result", result));
}
Counter& long_queries(std::string_view then) {
  return counter("fathom_query_long_total", "Queries that took longer than the turn of a short one, by what came then.",
                 label("then", then));
}
MetricHistogram& durations(std::string_view query) {
  return histogram("fathom_query_duration_seconds", "How long queries took, waiting for a thread included.",
                   kBoundsSeconds, label("query", query));
}

}  // namespace

void register_counters() {
  for (const char* reason : kReasons) refused(reason);
  for (const char* then : {"went_on", "began_again"}) long_queries(then);
  for (const char* query : kQueries) {
    requests(query, "ok");
    for (ErrorCode fault : kFaults) requests(query, error_code_name(fault));
    durations(query);
  }
}

void count_refused(std::string_view reason) {
  refused(reason).add();
}

void count_long(std::string_view then) {
  long_queries(then).add();
}

void count_finished(std::string_view query, std::string_view result, uint64_t took_nano) {
  requests(query, result).add();
  durations(query).observe(static_cast<double>(took_nano) / 1e9);
}

void show_store(const store::StoreStats& stats) {
  gauge("fathom_store_disk_bytes", "What the store takes on the disk: sorted files and logs.")
      .set(static_cast<int64_t>(stats.disk_bytes));
  gauge("fathom_store_segments", "Sealed segments.").set(static_cast<int64_t>(stats.segments));
  gauge("fathom_store_unsealed_spans", "Spans that are durable and not yet sealed.")
      .set(static_cast<int64_t>(stats.spans_unsealed));
  gauge("fathom_store_spans", "Spans that are stored.").set(static_cast<int64_t>(stats.spans_stored));
  gauge("fathom_store_oldest_received_timestamp_seconds",
        "When the oldest of what is stored was received, in seconds since the epoch; 0 when nothing is stored.")
      .set(static_cast<int64_t>(stats.oldest_received_unix_nano / kNanosPerSecond));
}

}  // namespace fathom::query
