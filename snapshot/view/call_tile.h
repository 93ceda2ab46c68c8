// CallTile: of a thread's calls what a picture of so many columns shows between two times, or two rows.
//
// Purpose: calls at least a column wide stand for themselves; narrower ones beside each other (less than a column
// apart) become one stretch with their number, but for one that is alone. So an answer is bounded by the picture, not
// by what ran: some two marks per column and depth, and kMostMarks in all, beyond which depths are left out whole, the
// deepest first. Thread safety: pure functions. Ownership: points into the CallIndex. Units: ticks, or rows. Errors:
// none.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "snapshot/view/call_index.h"

namespace fathom::snapshot {

enum class ViewAxis : uint8_t { kTime, kRows };

struct TileQuestion {
  ViewAxis axis = ViewAxis::kTime;
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t columns = 1;
  size_t first_depth = 0;
  size_t depths = SIZE_MAX;
};

struct MergedCalls {
  uint64_t start = 0;
  uint64_t end = 0;
  size_t depth = 0;
  uint64_t calls = 0;
};
struct ShownCall {
  const Call* call = nullptr;
  size_t depth = 0;
};
struct MergedBreaks {
  uint64_t start = 0;
  uint64_t end = 0;
  GapReason gap = GapReason::kNone;
  uint64_t count = 0;
};

struct CallTile {
  static constexpr size_t kMostMarks = 20'000;

  std::vector<ShownCall> calls;  // by depth, then start
  std::vector<MergedCalls> merged;
  std::vector<MergedBreaks> breaks;
  size_t depths = 0;           // shown
  size_t left_out_depths = 0;  // of those asked for, that have something here
};

CallTile cut_tile(const CallIndex& index, const TileQuestion& question);

// The least width that stands for itself.
uint64_t column_width(const TileQuestion& question);

}  // namespace fathom::snapshot
