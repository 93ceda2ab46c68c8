// SyscallNumbers: what the recorder wrote down of a thread's system calls and signals.
//
// Thread safety: const after construction. Errors: none; nothing written down is an answer.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

class SyscallNumbers {
 public:
  explicit SyscallNumbers(const Snapshot& snapshot);
  // Of the call of `tid` between two times; `by_code`, where it is one of those that were written down there.
  std::optional<int64_t> number(int32_t tid, uint64_t from_tsc, uint64_t to_tsc, int64_t by_code) const;
  bool signal_between(int32_t tid, uint64_t from_tsc, uint64_t to_tsc) const;

 private:
  struct Row {
    uint64_t tsc;
    int64_t value;
  };
  using Rows = std::unordered_map<int32_t, std::vector<Row>>;  // of a thread, by tsc

  Rows calls_;
  Rows signals_;
};

}  // namespace fathom::snapshot
