// CapturedTraces: how far what a trace did in a process is captured already, because a span of it took too long.
//
// Purpose: when a span ends that was captured while it ran, what came after is captured too, and nothing twice. What
// could not be captured after all is taken back, and what was known before it counts again. Thread safety: all of it.
// The oldest are forgotten beyond kMost. Units: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "base/ids.h"

namespace fathom::agent {

class CapturedTraces {
 public:
  static constexpr size_t kMost = 1024;

  struct Captured {
    uint32_t program = 0;
    TraceId trace_id;
    SpanId span_id;  // for whose sake
    uint64_t start_nano = 0;
    uint64_t until_nano = 0;
  };

  void put(const Captured& captured) {
    std::lock_guard lock(mutex_);
    if (captured_.size() == kMost) captured_.pop_front();
    captured_.push_back(captured);
  }
  void take_back(uint32_t program, const TraceId& trace_id, const SpanId& span_id, uint64_t until_nano) {
    std::lock_guard lock(mutex_);
    std::erase_if(captured_, [&](const Captured& at) {
      return is_of(at, program, trace_id) && at.span_id == span_id && at.until_nano == until_nano;
    });
  }
  // The last of this trace in this program.
  std::optional<Captured> find(uint32_t program, const TraceId& trace_id) const {
    std::lock_guard lock(mutex_);
    auto found = std::find_if(captured_.rbegin(), captured_.rend(),
                              [&](const Captured& at) { return is_of(at, program, trace_id); });
    return found == captured_.rend() ? std::nullopt : std::optional(*found);
  }

 private:
  static bool is_of(const Captured& captured, uint32_t program, const TraceId& trace_id) {
    return captured.program == program && captured.trace_id == trace_id;
  }

  mutable std::mutex mutex_;
  std::deque<Captured> captured_;
};

}  // namespace fathom::agent
