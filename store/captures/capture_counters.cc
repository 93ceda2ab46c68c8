#include "store/captures/capture_counters.h"

#include <array>

#include "store/rocks/counters.h"

namespace fathom::store {

namespace {

constexpr std::array kBoundsSeconds{0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0};

}  // namespace

Counter& stored_captures() {
  return counter("fathom_captures_stored_total", "Captures made durable");
}

Counter& duplicate_captures() {
  return counter("fathom_duplicate_captures_total", "Captures that were stored already and acknowledged again");
}

Counter& refused_captures(std::string_view reason) {
  return counter("fathom_captures_refused_total", "Captures that the store refused for now; agents try again",
                 label("reason", reason));
}

Counter& rejected_captures(std::string_view reason) {
  return counter("fathom_rejected_captures_total", "Captures that the store refused for good", label("reason", reason));
}

Counter& abandoned_captures(std::string_view reason) {
  return counter("fathom_captures_abandoned_total", "Uploads of captures that came to no end", label("reason", reason));
}

Counter& dropped_captures(std::string_view reason) {
  return counter("fathom_dropped_captures_total", "Captures that retention dropped", label("reason", reason));
}

Counter& dropped_capture_bytes(std::string_view reason) {
  return counter("fathom_dropped_capture_bytes_total", "Bytes of captures that retention dropped",
                 label("reason", reason));
}

Counter& dropped_skipped(std::string_view reason) {
  return counter("fathom_dropped_skipped_captures_total",
                 "Reports of skipped captures that retention dropped, or that were not stored",
                 label("reason", reason));
}

Counter& orphaned_contents() {
  return counter("fathom_capture_orphans_total", "Files that no capture refers to, removed at a start");
}

Counter& lost_captures() {
  return counter("fathom_lost_captures_total", "Captures whose rows damage to the log destroyed, at most");
}

Gauge& captures_kept() {
  return gauge("fathom_captures", "Captures that are stored");
}

Gauge& capture_bytes_kept() {
  return gauge("fathom_capture_bytes", "What captures take of their budget");
}

Gauge& skipped_kept() {
  return gauge("fathom_skipped_captures", "Reports of skipped captures that are stored");
}

Gauge& captures_damaged() {
  return gauge("fathom_captures_damaged", "Contents of captures that are gone or cut short");
}

MetricHistogram& capture_finish_durations() {
  static MetricHistogram& durations =
      histogram("fathom_capture_finish_duration_seconds",
                "How long captures took from the end of their content until they were durable.", kBoundsSeconds);
  return durations;
}

void register_capture_counters() {
  for (const char* reason : {"disk_nearly_full", "not_writable", "writers", "write_failed"}) refused_captures(reason);
  for (const char* reason : {"invalid", "too_large", "other_content", "not_as_announced"}) rejected_captures(reason);
  for (const char* reason : {"idle", "unfinished"}) abandoned_captures(reason);
  for (const char* reason : {"age", "limit", "invalid", "refused"}) dropped_skipped(reason);
  for (const char* reason : {"age", "size"}) {
    dropped_captures(reason);
    dropped_capture_bytes(reason);
  }
  lost_index_values("capture");
  stored_captures();
  duplicate_captures();
  orphaned_contents();
  lost_captures();
  captures_kept();
  capture_bytes_kept();
  skipped_kept();
  captures_damaged();
  capture_finish_durations();
}

}  // namespace fathom::store
