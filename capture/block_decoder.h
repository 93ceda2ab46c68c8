// BlockDecoder: the blocks of a capture's body: the events of its threads.
//
// Thread safety: none. Errors: fails the reader. Hostility: as decode.h; threads have room for as many events, values
// and texts as the tables say, and no block may have more.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/body_reader.h"
#include "capture/event_columns.h"

namespace fathom::capture {

class BlockDecoder {
 public:
  // `capture`: its tables, and threads without events. `totals`: of each thread, what is to come.
  BlockDecoder(BodyReader& in, Capture& capture, const std::vector<ThreadTotals>& totals);

  // Up to the end; the events of each thread are by time then.
  void decode();

 private:
  void reserve();
  void sort(std::vector<Event>& events);
  void block();
  Thread* thread_of(uint32_t tid);
  std::span<Event> new_events(Thread& thread);
  void times(std::span<Event> events);
  void places(std::span<Event> events);
  void spans(std::span<Event> events);
  uint64_t value_counts(std::span<Event> events, uint64_t first_value);
  void values(Thread& thread, std::span<const Event> events, uint64_t count);
  Value value(FieldType type);
  void texts(Thread& thread);

  BodyReader& in_;
  Capture& capture_;
  std::vector<ThreadTotals> left_;
  size_t thread_ = 0;        // the index of the block's
  uint64_t text_begin_ = 0;  // of the block's texts, in the thread's
  uint64_t text_bytes_ = 0;  // of the block, so far
};

}  // namespace fathom::capture
