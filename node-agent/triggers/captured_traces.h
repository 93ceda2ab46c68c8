// CapturedTraces: how far what a trace did in a process is captured already, because a span of it took too long.
//
// Purpose: when a span ends that was captured while it ran, what came after is captured too, and nothing twice. Thread
// safety: all of it. The oldest are forgotten beyond kMost. Units: nanoseconds of CLOCK_MONOTONIC.
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

  // Instead of what was known of this trace in this program.
  void put(const Captured& captured) {
    std::lock_guard lock(mutex_);
    std::erase_if(captured_, [&](const Captured& other) { return is_of(other, captured.program, captured.trace_id); });
    if (captured_.size() == kMost) captured_.pop_front();
    captured_.push_back(captured);
  }
  std::optional<Captured> find(uint32_t program, const TraceId& trace_id) const {
    std::lock_guard lock(mutex_);
    auto found = std::ranges::find_if(captured_, [&](const Captured& at) { return is_of(at, program, trace_id); });
    return found == captured_.end() ? std::nullopt : std::optional(*found);
  }

 private:
  static bool is_of(const Captured& captured, uint32_t program, const TraceId& trace_id) {
    return captured.program == program && captured.trace_id == trace_id;
  }

  mutable std::mutex mutex_;
  std::deque<Captured> captured_;
};

}  // namespace fathom::agent
