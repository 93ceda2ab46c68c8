// EventColumns: the events of one thread on their way into a block of a capture's body (docs/formats/capture.md).
//
// Purpose: whoever has an event at hand writes it where it will lie in the end: nothing is gathered, sorted or copied
// again, and what is written fits into a processor's cache. The values of an event come first, by the types of its
// tracepoint's fields, then the event that has them. Thread safety: none. Ownership: of the columns' memory, which is
// used again for the next block. Errors: none; more values than the tracepoint has fields are a fault, and asserted.
#pragma once

#include <cassert>
#include <cstdint>
#include <string_view>

#include "capture/body_sink.h"
#include "capture/body_writer.h"
#include "capture/capture.h"
#include "capture/format.h"

namespace fathom::capture {

// How much a thread has of what its blocks hold.
struct ThreadTotals {
  uint64_t events = 0;
  uint64_t values = 0;
  uint64_t text_bytes = 0;
};

class EventColumns {
 public:
  void integer(int64_t value) { put_value().svarint(value); }
  void natural(uint64_t value) { put_value().varint(value); }
  void real(double value) { put_value().u64(std::bit_cast<uint64_t>(value)); }
  void truth(bool value) { put_value().u8(value ? 1 : 0); }
  // `cut`: its end is missing.
  void text(std::string_view bytes, bool cut) {
    put_value().varint(uint64_t{bytes.size()} << 1 | (cut ? 1 : 0));
    texts_.raw(bytes);
  }
  // `fields`: of its tracepoint. Of `event` where its values lie is of no interest.
  void event(const Event& event, size_t fields);

  bool empty() const { return events_ == 0; }
  // It is worth a block now.
  bool full() const { return events_ >= kMostEvents || values_.size() + texts_.size() >= kMostBytes; }
  // The block of what was written since the last one, and what is in it.
  ThreadTotals write(uint32_t tid, BodySink& sink);

 private:
  static constexpr size_t kMostEvents = 4096;
  static constexpr size_t kMostBytes = 64 << 10;

  BodyWriter& put_value() {
    ++values_of_event_;
    return values_;
  }

  BodyWriter times_, places_, spans_, value_counts_, values_, texts_;
  size_t events_ = 0;
  uint64_t value_count_ = 0;  // of the events
  uint64_t values_of_event_ = 0;
  uint64_t last_nano_ = 0;
  int64_t last_spans_ = 0;
};

inline void EventColumns::event(const Event& event, size_t fields) {
  const uint64_t values = std::exchange(values_of_event_, 0);
  assert(values <= fields);
  const bool fewer = values < fields;
  // Events are nearly in order, and need not be.
  times_.difference(event.monotonic_nano, std::exchange(last_nano_, event.monotonic_nano));
  places_.varint(uint64_t{event.tracepoint} << 1 | (fewer ? format::kFewerValues : 0));
  const int64_t last_spans = std::exchange(last_spans_, int64_t{event.spans});
  spans_.varint(zigzag(event.spans - last_spans) << 1 | (event.spans_certain ? 0 : format::kSpansUncertain));
  if (fewer) value_counts_.varint(values);
  value_count_ += values;
  ++events_;
}

}  // namespace fathom::capture
