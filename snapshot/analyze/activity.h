// Activity: how many instructions ran in which function, over time; for pictures.
//
// Purpose: time is cut into slots that double in width while there are too many, so that any length fits. Thread
// safety: none. Memory: bounded. Units: ticks, or instructions where packets tell no time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/decode/analysis.h"

namespace fathom::snapshot {

class Activity {
 public:
  static constexpr uint64_t kMostSlots = 256;

  void add(uint64_t at, const std::string& function, uint64_t instructions);
  void merge(const Activity& other);

  struct Series {
    std::string name;
    uint64_t instructions = 0;
    std::map<uint64_t, uint64_t> slots;
  };
  // The busiest first; what is left of them as "other".
  std::vector<Series> busiest(size_t most) const;
  uint64_t first() const { return first_; }
  uint64_t last() const { return last_; }
  uint64_t slot_width() const { return uint64_t{1} << shift_; }

 private:
  void widen(int shift);
  void fit(uint64_t first, uint64_t last);

  int shift_ = 8;
  uint64_t first_ = UINT64_MAX;
  uint64_t last_ = 0;
  std::map<std::string, Series, std::less<>> functions_;
};

}  // namespace fathom::snapshot
