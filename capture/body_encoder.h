// BodyEncoder: the body of a capture's bytes, of which the events come first, in any order of their threads, and what
// is known at the end comes last (docs/formats/capture.md).
//
// Thread safety: none. Ownership: the sink outlives it, and is empty before. Errors: none; indexes that lead nowhere,
// and events of a thread that the capture does not have, are faults of the caller's, and asserted. Costs: an event is
// written once, into a block that fits into a processor's cache.
#pragma once

#include <string>

#include "capture/body_sink.h"
#include "capture/capture.h"
#include "capture/event_columns.h"
#include "capture/tables_encoder.h"

namespace fathom::capture {

class BodyEncoder {
 public:
  explicit BodyEncoder(BodySink& sink) : sink_(sink) {}

  // Where one further event of a thread goes.
  EventColumns& events_of(uint32_t tid) {
    if (tid != tid_ || columns_.full()) turn_to(tid);
    return columns_;
  }
  bool has_events(uint32_t tid) const { return totals_.contains(tid) || (tid == tid_ && !columns_.empty()); }
  // All the rest; the events of `capture` itself are not looked at.
  void finish(const Capture& capture);

 private:
  void turn_to(uint32_t tid);
  void end_block();

  BodySink& sink_;
  EventColumns columns_;
  uint32_t tid_ = 0;
  TotalsByThread totals_;
};

// Of a capture whose events are gathered already.
void encode_events(const Capture& capture, BodyEncoder& encoder);
// All of it, as it is before it is compressed.
std::string encode_body(const Capture& capture);

}  // namespace fathom::capture
