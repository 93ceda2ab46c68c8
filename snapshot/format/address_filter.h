// Address filters: what a recording of Intel PT was narrowed to, as rows of the sideband.
//
// Purpose: one form for the recorder, which sets filters, for perf's recordings, which tell them as text, and for the
// decoder, which must know them: under some processors' errata packets alone do not say that recording stopped. Thread
// safety: pure functions. Source of the idea: PERF_EVENT_IOC_SET_FILTER; the n-th row is the processor's ADDRn.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

// As many as processors have.
inline constexpr size_t kMostAddressFilters = 4;

// [offset, offset + bytes) of a file, wherever processes show it; of addresses where there is no file.
inline Sideband address_filter_row(std::string file, uint64_t offset, uint64_t bytes, bool stops = false) {
  Sideband row;
  row.kind = SidebandKind::kAddressFilter;
  row.flags = stops ? kFlagStopsTrace : 0U;
  (file.empty() ? row.address : row.file_offset) = offset;
  row.length = bytes;
  row.text = std::move(file);
  return row;
}

}  // namespace fathom::snapshot
