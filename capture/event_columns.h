// EventColumns: the events of one thread on their way into a block of a capture's body (docs/formats/capture.md).
//
// Purpose: whoever has an event at hand writes it where it will lie in the end: nothing is gathered, sorted or copied
// again, and what is written fits into a processor's cache. The values of an event come first, by the types of its
// tracepoint's fields, then the event that has them. Thread safety: none. Ownership: of the columns' memory, which is
// used again for the next block. Errors: none; more values than the tracepoint has fields, and an event that is added
// although full(), are faults, and asserted.
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

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

// The values of one event, in the order of its tracepoint's fields. A local variable, which the compiler keeps in
// registers, because captures have hundreds of thousands of events. Not to be used after the next call of its columns.
class EventValues {
 public:
  void integer(int64_t value) { natural(zigzag(value)); }
  void natural(uint64_t value) {
    end_ = put_varint_in_room(end_, value);
    ++count_;
  }
  void real(double value) {
    std::memcpy(end_, &value, sizeof value);
    end_ += sizeof value;
    ++count_;
  }
  void truth(bool value) { natural(value ? 1 : 0); }
  // `cut`: its end is missing.
  void text(std::string_view bytes, bool cut) {
    natural(uint64_t{bytes.size()} << 1 | (cut ? 1 : 0));
    texts_.raw(bytes);
  }

 private:
  friend class EventColumns;
  EventValues(char* begin, BodyWriter& texts) : end_(begin), texts_(texts) {}

  char* end_;
  uint64_t count_ = 0;
  BodyWriter& texts_;
};

class EventColumns {
 public:
  // Of the next event. `fields`: of its tracepoint.
  EventValues values(size_t fields) { return {values_.room(fields * kMostVarintBytes), texts_}; }
  // `fields`: as before. Of `event` where its values lie is of no interest.
  void add(const Event& event, size_t fields, const EventValues& values);

  bool empty() const { return events_ == 0; }
  // It is worth a block now.
  bool full() const { return events_ >= kMostEvents || values_.size() + texts_.size() >= kMostBytes; }
  // The block of what was written since the last one, and what is in it.
  ThreadTotals write(uint32_t tid, BodySink& sink);

 private:
  static constexpr size_t kMostEvents = 4096;
  static constexpr size_t kMostBytes = 64 << 10;

  // A number of each event.
  class Column {
   public:
    void put(uint64_t value) { end_ = put_varint_in_room(end_, value); }
    std::string_view view() const { return {memory_.get(), static_cast<size_t>(end_ - memory_.get())}; }
    void clear() { end_ = memory_.get(); }

   private:
    std::unique_ptr<char[]> memory_ = std::make_unique_for_overwrite<char[]>(kMostEvents * kMostVarintBytes);
    char* end_ = memory_.get();
  };

  Column times_, places_, spans_, value_counts_;
  BodyWriter values_, texts_;
  size_t events_ = 0;
  uint64_t value_count_ = 0;  // of the events
  uint64_t last_nano_ = 0;
  int64_t last_spans_ = 0;
};

inline void EventColumns::add(const Event& event, size_t fields, const EventValues& values) {
  assert(values.count_ <= fields && events_ < kMostEvents);
  const bool fewer = values.count_ < fields;
  values_.advance(values.end_);
  // Events are nearly in order, and need not be.
  times_.put(zigzag(static_cast<int64_t>(event.monotonic_nano - std::exchange(last_nano_, event.monotonic_nano))));
  places_.put(uint64_t{event.tracepoint} << 1 | (fewer ? format::kFewerValues : 0));
  const int64_t last_spans = std::exchange(last_spans_, int64_t{event.spans});
  spans_.put(zigzag(event.spans - last_spans) << 1 | (event.spans_certain ? 0 : format::kSpansUncertain));
  if (fewer) value_counts_.put(values.count_);
  value_count_ += values.count_;
  ++events_;
}

}  // namespace fathom::capture
