// LatencyCell: how long the spans of one operation took in one cell of time, and how many of them failed.
//
// Purpose: the stored form behind latency() and operations(); cells of segments, minutes and operations add up.
// Thread safety: a plain value. Units: in names. Errors: decode treats its input as hostile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/histogram.h"

namespace fathom::store {

struct LatencyCell {
  uint64_t errors = 0;  // never more than durations.count()
  Histogram durations;  // of all spans, failed ones too

  void record(uint64_t duration_nano, bool error) {
    durations.record(duration_nano);
    errors += error;
  }
  void merge(const LatencyCell& other);

  void encode(std::string& out) const;  // docs/formats/index.md
  static Result<LatencyCell> decode(std::string_view in);

  bool operator==(const LatencyCell&) const = default;
};

}  // namespace fathom::store
