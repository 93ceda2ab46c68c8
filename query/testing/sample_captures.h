// SampleCaptures: a CaptureStore in memory, with the losses that a test sets.
//
// Thread safety: all of it, once `lost` is set. Ownership: owns what it stores.
#pragma once

#include <vector>

#include "store/model/memory_captures.h"

namespace fathom::query::testing {

class SampleCaptures : public store::MemoryCaptures {
 public:
  std::vector<store::Loss> losses() override { return lost; }

  std::vector<store::Loss> lost;  // set before the first query
};

}  // namespace fathom::query::testing
