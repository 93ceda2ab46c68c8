// RowScan: all readable rows of a family, in order, and the gaps that damage leaves between them.
//
// Purpose: RocksDB's iterator stops at the first damaged block. This one reports the damage, finds the first row behind
// it, and goes on. Rows that a range deletion covers are visited, too. Thread safety: one thread. Ownership: the
// database outlives it. Errors: damage is a result.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "store/rocks/database.h"

namespace fathom::store {

// The rows between two keys cannot be read.
struct RowGap {
  std::string after;   // the last row before the gap; empty: the gap begins with the family
  std::string before;  // the first row behind it; empty: the gap reaches to the end of the family
  std::string reason;
};

class RowScan {
 public:
  using Visit = std::function<void(std::string_view key, std::string_view value)>;
  using OnGap = std::function<void(const RowGap&)>;

  // Rows with keys in [begin, end); an empty end: all.
  static void run(Database& database, Family family, const std::string& begin, const std::string& end,
                  const Visit& visit, const OnGap& on_gap);
};

}  // namespace fathom::store
