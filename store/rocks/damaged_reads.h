// DamagedReads: reports reads that fail because what they read is damaged, or because the disk cannot read it.
//
// Purpose: a disk damages sorted files at any time, and only what reads them notices: sealing, or a query, whose error
// names the fix. The log and fathom_store_damaged_reads_total tell the operator. An error of the disk stays
// kUnavailable, because the next attempt may succeed. Thread safety: all of it. Losses: the log has one line per
// minute, which counts the reads since the line before.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"

namespace fathom::store {

// Of a read of the store, which is kUnavailable only if the disk fails.
inline bool is_of_disk(ErrorCode code) {
  return code == ErrorCode::kCorrupt || code == ErrorCode::kUnavailable;
}

class DamagedReads {
 public:
  // `path`: the data directory.
  explicit DamagedReads(std::string path) : path_(std::move(path)) {}

  // The result of a read, with advice if it is damage or an error of the disk.
  template <typename T>
  Result<T> checked(Result<T> result) {
    if (result.ok() || !is_of_disk(result.error().code)) return result;
    return report(result.error(), "an answer failed");
  }
  // Sealing went on without older spans of a trace.
  void note_left_out(const Error& error);

 private:
  Error report(Error error, const std::string& what);

  const std::string path_;
  std::mutex mutex_;
  uint64_t unreported_ = 0;
  uint64_t reported_monotonic_nano_ = 0;  // 0: never
};

}  // namespace fathom::store
