// NamedThreads: on which threads a stored span says that it started and ended.
//
// Rules: an agent added it (base/span_threads.h), in the node's numbers. OpenTelemetry's `thread.id` is not looked at:
// it is mostly a number of the program's runtime. Thread safety: plain values. Hostility: whoever sends spans may say
// anything of them; what is no thread id names none.
#pragma once

#include <cstdint>

#include "store/span.h"

namespace fathom::query {

struct NamedThreads {
  uint32_t start_tid = 0;  // 0: none is named
  uint32_t end_tid = 0;    // mostly the same

  bool known() const { return end_tid != 0; }
  bool differ() const { return start_tid != end_tid; }
};

NamedThreads named_threads(const store::SpanView& span);

}  // namespace fathom::query
