// ThreadDecoder: one thread of a capture's body: its open spans, events and kernel events.
//
// Thread safety: none. Errors: fails the reader. Hostility: as decode.h.
#pragma once

#include "capture/body_reader.h"

namespace fathom::capture {

class ThreadDecoder {
 public:
  // `capture`: what was read before its threads.
  ThreadDecoder(BodyReader& in, const Capture& capture) : in_(in), capture_(capture) {}

  void decode(Thread& thread);

 private:
  OpenSpan open_span();
  void events(Thread& thread);
  void event_tracepoints(std::vector<Event>& events);
  void event_spans(std::vector<Event>& events);
  uint64_t value_counts(std::vector<Event>& events);
  void values(Thread& thread, uint64_t count);
  Value value(FieldType type);
  void texts(Thread& thread);
  void kernel_events(std::vector<KernelEvent>& events);
  void kernel_event(KernelEvent& event);
  void kernel_kind(KernelEvent& event);

  BodyReader& in_;
  const Capture& capture_;
  uint64_t text_bytes_ = 0;  // of the thread
};

}  // namespace fathom::capture
