// OverdueCaptures: until when the spans that were found overdue are captured already.
//
// Purpose: when such a span ends, what came after is captured too, and nothing twice. Thread safety: all of it. The
// oldest are forgotten beyond kMost. Units: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "base/ids.h"

namespace fathom::agent {

class OverdueCaptures {
 public:
  static constexpr size_t kMost = 1024;

  void add(uint32_t program, const TraceId& trace_id, uint64_t until_nano) {
    std::lock_guard lock(mutex_);
    if (captured_.size() == kMost) captured_.pop_front();
    captured_.push_back({program, trace_id, until_nano});
  }
  // And forgets it, when there is a rest until `end_nano`.
  std::optional<uint64_t> take(uint32_t program, const TraceId& trace_id, uint64_t end_nano) {
    std::lock_guard lock(mutex_);
    for (auto at = captured_.begin(); at != captured_.end(); ++at) {
      if (at->program != program || at->trace_id != trace_id) continue;
      uint64_t until_nano = at->until_nano;
      if (until_nano < end_nano) captured_.erase(at);
      return until_nano;
    }
    return std::nullopt;
  }

 private:
  struct Captured {
    uint32_t program;
    TraceId trace_id;
    uint64_t until_nano;
  };
  std::mutex mutex_;
  std::deque<Captured> captured_;
};

}  // namespace fathom::agent
