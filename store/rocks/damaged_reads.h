// DamagedReads: reports answers that fail because what they read is damaged, or because the disk cannot read it.
//
// Purpose: a disk damages sorted files at any time, and only the query that reads them notices. Its error names the
// fix; the log and fathom_store_damaged_reads_total tell the operator. An error of the disk stays kUnavailable, because
// the next attempt may succeed. Thread safety: all of it. Losses: the log has one line per minute, which counts the
// answers since the line before.
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

  // The result of a read, with advice if it is damage or an error of the disk.
  template <typename T>
  Result<T> checked(Result<T> result) {
    if (result.ok() || !is_of_disk(result.error().code)) return result;
    return report(result.error());
  }

 private:
  // A read of the store is kUnavailable only if the disk fails.
  static bool is_of_disk(ErrorCode code) { return code == ErrorCode::kCorrupt || code == ErrorCode::kUnavailable; }
  Error report(Error error);

  const std::string path_;
  std::mutex mutex_;
  uint64_t unreported_ = 0;
  uint64_t reported_monotonic_nano_ = 0;  // 0: never
};

}  // namespace fathom::store
