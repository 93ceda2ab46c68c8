// AddressFilters: the ranges that a recording was narrowed to, for libipt.
//
// Purpose: where recording stops because code leaves a filter's range, the packet need not say to where (erratum
// SKL014 and its kin); libipt finds the place by the ranges. Filters name files, processors have addresses: those of
// the processes that run in a segment are put together, the first one's first. Thread safety: const after
// construction. Errors: none; ranges beyond the processor's four are left out.
#pragma once

#include <intel-pt.h>

#include <span>
#include <string>
#include <vector>

#include "snapshot/decode/memory_map.h"

namespace fathom::snapshot {

class AddressFilters {
 public:
  explicit AddressFilters(const Snapshot& snapshot);

  bool empty() const { return filters_.empty(); }
  // None where no process is known to show what a filter lets through: packets say that one did.
  pt_conf_addr_filter in(std::span<const std::span<const MappedRange>> spaces) const;

 private:
  struct Filter {
    Sideband row;
    std::vector<bool> images;  // those that are its file; none: it filters addresses
  };
  struct Range {
    uint64_t first = 0;
    uint64_t last = 0;
    bool operator==(const Range&) const = default;
  };
  static bool in_space(const Filter& filter, std::span<const MappedRange> ranges, Range& found);

  std::vector<Filter> filters_;
};

}  // namespace fathom::snapshot
