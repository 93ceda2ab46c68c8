// An icicle: a tree as rectangles below each other, children below their parent, width by value.
//
// Thread safety: pure functions. Errors: none. What is narrower than a tenth of a pixel, or deeper than 200 rows, is
// left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/analyze/svg.h"

namespace fathom::snapshot {

// In depth-first order; the first one is the root. The value of a piece is at least the sum of its children's.
struct IciclePiece {
  std::string name;
  std::string title;
  uint32_t parent = 0;
  uint32_t depth = 0;
  uint64_t value = 0;
  std::string fill;
};

// For each piece where it begins, as a value: behind the siblings before it. Rings of a sunburst lie the same way.
std::vector<uint64_t> piece_offsets(const std::vector<IciclePiece>& pieces);

std::string draw_icicle(const std::vector<IciclePiece>& pieces, std::string_view caption);
std::string draw_sunburst(const std::vector<IciclePiece>& pieces, std::string_view caption);

}  // namespace fathom::snapshot
