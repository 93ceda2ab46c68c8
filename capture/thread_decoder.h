// ThreadDecoder: one thread in the tables of a capture's body: its open spans, its kernel events, and how many events
// the blocks have of it.
//
// Thread safety: none. Errors: fails the reader. Hostility: as decode.h.
#pragma once

#include "capture/body_reader.h"
#include "capture/event_columns.h"

namespace fathom::capture {

class ThreadDecoder {
 public:
  // `capture`: what was read before its threads.
  ThreadDecoder(BodyReader& in, const Capture& capture) : in_(in), capture_(capture) {}

  ThreadTotals decode(Thread& thread);

 private:
  OpenSpan open_span();
  ThreadTotals totals();
  void kernel_events(std::vector<KernelEvent>& events);
  void kernel_event(KernelEvent& event);
  void kernel_kind(KernelEvent& event);

  BodyReader& in_;
  const Capture& capture_;
};

}  // namespace fathom::capture
