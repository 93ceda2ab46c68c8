// The engine's counters of what it refused, dropped or could not do, and how long senders waited, each named once.
//
// Purpose: a counter that is shown only once it counted looks like one that does not exist, so all of them are
// registered when a store is opened. Thread safety: all of it. Units: in the names.
#pragma once

#include <string_view>

#include "base/metrics.h"
#include "store/limited_parts.h"

namespace fathom::store {

Counter& refused_batches(
    std::string_view reason);  // queue_full, not_writable, sealing_behind, lookup_failed, write_failed
Counter& dropped_spans(std::string_view reason);     // age, size
Counter& lost_index_values(std::string_view index);  // slow, latency, straddle, corrected, lost
Counter& lost_batches();
Counter& cut_log_bytes();
Counter& damaged_reads();
Counter& seals_without_older_spans();
Counter& duplicate_batches();
Counter& stored_spans();
Counter& trace_lookup_failures();
Counter& seal_failures();
Gauge& corrected_traces();
Gauge& corrected_traces_in_memory();
Counter& seal_read_bytes();
// Of batches, from append() until they are acknowledged; and of the groups' writes, syncs included.
MetricHistogram& append_durations();
MetricHistogram& write_durations();

void register_counters();

}  // namespace fathom::store
