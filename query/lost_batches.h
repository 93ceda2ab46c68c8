// Marks answers about a time in which damage to the disk destroyed acknowledged batches.
//
// Purpose: an answer that may miss spans or captures says so. All losses that touch an answer's range are added up in
// one mark. A loss touches the ranges in which its spans may have started (store::Loss).
// Thread safety: plain functions. Units: in names. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "net/json_writer.h"
#include "store/capture_store.h"
#include "store/span_store.h"

namespace fathom::query {

struct LostBatches {
  uint64_t losses = 0;
  uint64_t first_received_unix_nano = 0;
  uint64_t last_received_unix_nano = 0;
  std::optional<uint64_t> most_batches;  // nothing: unknown; 0: captures may be lost, but no spans
};

// For answers about spans. Nothing if no loss of spans touches the range.
std::optional<LostBatches> lost_batches(store::SpanStore& store, const store::TimeRange& range);
// For lists of captures. Nothing if no loss touches the range, or if `captures` is null.
std::optional<LostBatches> lost_captures(store::CaptureStore* captures, const store::TimeRange& range);

// The member `lost_batches`, if there is anything to report.
void write_lost_batches(net::JsonWriter& json, const std::optional<LostBatches>& lost);
// Adds the member to the text of an object that has other members.
std::string with_lost_batches(std::string object, const std::optional<LostBatches>& lost);

}  // namespace fathom::query
