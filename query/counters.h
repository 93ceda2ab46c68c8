// The query face's counters (docs/api.md): their names, their labels, and that a fresh server shows all of them.
//
// Thread safety: all of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "store/span_store.h"

namespace fathom::query {

// Makes every series, at 0: what is missing from /metrics can neither be watched nor told from what never happened.
void register_counters();

// A query that was refused before it ran.
void count_refused(std::string_view reason);
// One that ran; the time it waited for a thread is part of `took_nano`.
void count_finished(std::string_view query, std::string_view result, uint64_t took_nano);
// A query that used up its turn, and then "went_on" with lower priority, or "began_again" later.
void count_long(std::string_view then);
// What /api/v1/status says of the store, as gauges.
void show_store(const store::StoreStats& stats);

}  // namespace fathom::query
