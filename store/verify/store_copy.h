// StoreCopy: writes the intact rows of a store into a new one, all of them or a part.
//
// Purpose: what a repair and a purge have in common. Segments are sealed anew under their old numbers, from the rows of
// intact blocks; everything that is derived from rows is made again. What is damaged goes to the findings. A part is
// given by RepairCopy::keeps_trace and keeps_capture; names of operations without spans in it are left out, too.
// Thread safety: one thread. Ownership: `copy` and what it names outlive it. Memory: one segment. Errors: of the disk.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "store/rocks/sealed.h"
#include "store/rocks/view.h"
#include "store/verify/repair_copy.h"
#include "store/verify/repaired_segment.h"
#include "store/verify/rows_check.h"

namespace fathom::store {

class StoreCopy {
 public:
  explicit StoreCopy(RepairCopy& copy)
      : copy_(copy), source_(copy.source), target_(copy.target), findings_(copy.findings) {}

  // The source is open.
  Result<> run(const ReadClocks& read_clocks);
  // Of traces that are not kept.
  uint64_t spans_left_out() const { return spans_left_out_; }

 private:
  Result<> copy_records();
  Result<> read_operations();
  Result<> copy_segments();
  Result<> copy_segment(SealedReader& reader, const SegmentInfo& info);
  Result<> report(const SegmentInfo& info, const std::vector<LostBlock>& blocks);
  Result<> copy_latencies(uint32_t partition);
  Result<> write_operations();
  Result<> write_numbers();
  Result<> copy_identities();

  RepairCopy& copy_;
  StoreSource& source_;
  RepairTarget& target_;
  Findings& findings_;
  DirectoryRecords records_;
  uint32_t next_operation_ = 0;
  std::map<uint32_t, std::string> operations_;  // rows
  std::unordered_set<uint32_t> used_operations_;
  SealedState sealed_;
  std::set<uint32_t> recounted_;  // partitions whose latencies are counted again, because rows of them are left out
  uint64_t spans_left_out_ = 0;
  DirectoryCache directories_{kDirectoryCacheBytes};
  SharedPageCache pages_{kPageCacheBytes};
  OversizedTraces oversized_;

  static constexpr size_t kDirectoryCacheBytes = 32 << 20;
  static constexpr size_t kPageCacheBytes = 8 << 20;
};

}  // namespace fathom::store
