// Address filters of a perf.data: `perf record --filter`, as AUXTRACE_INFO tells them.
//
// Thread safety: a pure function. Errors: none; what is not understood is counted. Source: the kernel's words for
// PERF_EVENT_IOC_SET_FILTER, which perf keeps: "filter 0x1000/0x40@/bin/shop,stop 0x2000/0x10@/bin/shop". Intel PT has
// ranges only; a range of "stop" (which perf calls "tracestop") ends the recording for good.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot::perf {

struct AddressFilters {
  std::vector<Sideband> rows;  // kAddressFilter, in the order of the text
  uint64_t not_understood = 0;
};

AddressFilters parse_address_filters(std::string_view text);

}  // namespace fathom::snapshot::perf
