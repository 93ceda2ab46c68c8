// EventCollector: from the copies of a detail pool to the events of a capture.
//
// Thread safety: none. Ownership: of nothing that is not copied; the snapshot outlives it. Errors: none; what cannot be
// decoded, or has no thread, is counted. Hostility: as event_decoder.h; memory is bounded by the snapshot's size.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "capture/capture.h"
#include "node-agent/capture/thread_table.h"
#include "node-agent/clock/tick_times.h"
#include "node-agent/detail/event_decoder.h"

namespace fathom::agent {

class EventCollector {
 public:
  // `capture`: has the window; gets tracepoints and sets of spans. `times`: of the caller's own.
  EventCollector(capture::Capture& capture, ThreadTable& threads, TickTimes& times, size_t most_spans_in_sets)
      : capture_(capture), threads_(threads), times_(times), spans_left_(most_spans_in_sets) {}

  DecodeCounts collect(const DetailSnapshot& snapshot);
  uint64_t events_without_thread() const { return events_without_thread_; }
  // Those that there was no room to say the spans of; they are there, without.
  uint64_t events_without_spans() const { return events_without_spans_; }

 private:
  void make_room();
  void add(const EventView& event);
  capture::Thread* thread_of(uint32_t tid);
  uint32_t tracepoint_of(const Tracepoint& tracepoint);
  uint32_t spans_of(std::span<const pool::SpanRef> spans);
  uint32_t new_set(uint64_t hash, std::span<const pool::SpanRef> spans);

  static constexpr uint32_t kNoSet = UINT32_MAX;

  capture::Capture& capture_;
  ThreadTable& threads_;
  TickTimes& times_;
  const DetailSnapshot* snapshot_ = nullptr;
  std::vector<uint32_t> tracepoints_;  // by their places in the snapshot's table: that in the capture, plus one
  std::unordered_map<uint64_t, uint32_t> sets_;
  std::string last_spans_;  // neighbours have the same more often than not
  uint32_t last_set_ = 0;
  uint32_t last_tid_ = 0;
  capture::Thread* last_thread_ = nullptr;
  size_t spans_left_;
  uint64_t events_without_thread_ = 0;
  uint64_t events_without_spans_ = 0;
};

}  // namespace fathom::agent
