// NamedThreads: the threads that a stored span names as the ones on which it started and ended.
//
// Rules: an agent added them (base/span_threads.h), with the node's thread ids. OpenTelemetry's `thread.id` is ignored,
// because it is mostly a number of the program's runtime. Thread safety: plain values. Hostility: a sender may write
// any value; those that are no thread ids are ignored.
#pragma once

#include <cstdint>

#include "store/span.h"

namespace fathom::query {

struct NamedThreads {
  uint32_t start_tid = 0;  // 0: the span names none
  uint32_t end_tid = 0;    // mostly equal to start_tid

  bool known() const { return end_tid != 0; }
  bool differ() const { return start_tid != end_tid; }
  bool have(uint32_t tid) const { return tid == start_tid || tid == end_tid; }
};

NamedThreads named_threads(const store::SpanView& span);

}  // namespace fathom::query
