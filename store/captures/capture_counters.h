// Counters of the captures: what was stored, refused, dropped or found damaged, each named once.
//
// Thread safety: all of it. Units: in the names.
#pragma once

#include <string_view>

#include "base/metrics.h"

namespace fathom::store {

Counter& stored_captures();
Counter& duplicate_captures();
Counter& refused_captures(std::string_view reason);    // disk_nearly_full, not_writable, writers, write_failed
Counter& rejected_captures(std::string_view reason);   // invalid, too_large, other_content, not_as_announced
Counter& abandoned_captures(std::string_view reason);  // idle, unfinished
Counter& dropped_captures(std::string_view reason);    // age, size
Counter& dropped_capture_bytes(std::string_view reason);
Counter& dropped_skipped(std::string_view reason);  // age, size, limit, invalid, refused
Counter& orphaned_contents();
Counter& lost_captures();
Gauge& captures_kept();
Gauge& capture_bytes_kept();
Gauge& skipped_kept();
Gauge& captures_damaged();
MetricHistogram& capture_finish_durations();

void register_capture_counters();

}  // namespace fathom::store
