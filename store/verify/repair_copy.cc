#include "store/verify/repair_copy.h"

namespace fathom::store {

Result<> copy_rows(const RepairCopy& repair, Family family, const std::string& begin, const std::string& end,
                   const CopyRow& copy, const RowScan::OnGap& on_gap) {
  Result<> copied;
  if (!repair.source.database().has(family)) return copied;
  RowScan::run(
      repair.source.database(), family, begin, end,
      [&](std::string_view key, std::string_view value) {
        if (copied) copied = copy(key, value);
      },
      on_gap);
  return copied ? repair.target.flush_rows() : copied;
}

}  // namespace fathom::store
