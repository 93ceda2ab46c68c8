// The traces of a segment that older segments hold spans of too: what they are by now, and where the older spans lie.
//
// Purpose: a block knows its traces as they were when it was sealed, so a search that skips blocks by that needs to
// know what has become of them since. Thread safety: a plain value. Ownership: owns its entries. Errors: every byte is
// hostile; decoding gives kCorrupt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/block/segment_reader.h"
#include "store/block/summary.h"

namespace fathom::store {

// Rows of the trace in a block of an older segment.
struct OlderPlace {
  uint32_t partition = 0;
  uint32_t segment = 0;
  RowRange rows;
};

struct GrownTrace {
  TraceId id;
  TraceSummary summary;  // cumulative
  uint32_t first_place = 0;
  uint32_t place_count = 0;
};

class GrownTraces {
 public:
  // By id, ascending.
  void add(const TraceId& id, const TraceSummary& summary, std::span<const OlderPlace> places);
  const std::vector<GrownTrace>& traces() const { return traces_; }
  const GrownTrace* find(const TraceId& id) const;
  // False in lists of version 1: then nothing is known of places.
  bool places_known() const { return places_known_; }
  std::span<const OlderPlace> places(const GrownTrace& trace) const {
    return std::span(places_).subspan(trace.first_place, trace.place_count);
  }

  std::string encode() const;
  static Result<GrownTraces> decode(std::string_view value);

 private:
  std::vector<GrownTrace> traces_;
  std::vector<OlderPlace> places_;
  bool places_known_ = true;
};

}  // namespace fathom::store
