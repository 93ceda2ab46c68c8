// DamagedReads: reports answers that fail because what they read is damaged.
//
// Purpose: a disk damages sorted files at any time, and only the query that reads them notices. Its error names the
// fix; the log and fathom_store_damaged_reads_total tell the operator. Thread safety: all of it. Losses: the log has
// one line per minute, which counts the answers since the line before.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"

namespace fathom::store {

class DamagedReads {
 public:
  // `path`: the data directory.
  explicit DamagedReads(std::string path) : path_(std::move(path)) {}

  // The result, with advice if it is damage.
  template <typename T>
  Result<T> checked(Result<T> result) {
    if (result.ok() || result.error().code != ErrorCode::kCorrupt) return result;
    return report(result.error());
  }

 private:
  Error report(Error error);

  const std::string path_;
  std::mutex mutex_;
  uint64_t unreported_ = 0;
  uint64_t reported_monotonic_nano_ = 0;  // 0: never
};

}  // namespace fathom::store
