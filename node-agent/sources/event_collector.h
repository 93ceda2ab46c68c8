// EventCollector: from the copies of a detail pool to the events of a capture, each written as it is met.
//
// Thread safety: none. Ownership: of nothing that is not copied; the snapshot outlives it. Errors: none; what cannot be
// decoded, or has no thread, is counted. Hostility: as event_decoder.h; of events no memory is taken but what they are
// compressed to.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "capture/body_encoder.h"
#include "capture/capture.h"
#include "node-agent/capture/thread_table.h"
#include "node-agent/clock/tick_times.h"
#include "node-agent/detail/event_decoder.h"
#include "node-agent/sources/event_redactor.h"

namespace fathom::agent {

class EventCollector {
 public:
  // `capture`: has the window; gets tracepoints and sets of spans. `encoder`: gets the events. `times`: of the
  // caller's own. `redaction`: outlives the collector; null: events are written as they are.
  EventCollector(capture::Capture& capture, capture::BodyEncoder& encoder, ThreadTable& threads, TickTimes& times,
                 size_t most_spans_in_sets, const Redaction* redaction = nullptr)
      : capture_(capture), encoder_(encoder), threads_(threads), times_(times), spans_left_(most_spans_in_sets) {
    if (redaction != nullptr) redactor_.emplace(*redaction);
  }

  DecodeCounts collect(const DetailSnapshot& snapshot);
  uint64_t events_without_thread() const { return events_without_thread_; }
  // Those that there was no room to say the spans of; they are there, without.
  uint64_t events_without_spans() const { return events_without_spans_; }

 private:
  // Of a redacted tracepoint: its places in the capture, plus one; 0: not there yet.
  struct RedactedPlaces {
    std::optional<bool> is_redacted;  // no value: not known yet
    uint32_t usual = 0;
    uint32_t with_texts = 0;  // the variant without numbers
  };

  bool add(const DetailRecord& event, const Tracepoint& tracepoint);
  bool is_redacted(const Tracepoint& tracepoint);
  bool add_redacted(const DetailRecord& event, const Tracepoint& tracepoint, uint32_t tid, capture::Event to_add);
  uint32_t redacted_place(const Tracepoint& tracepoint);
  size_t index_of(const Tracepoint& tracepoint) const;
  // Neighbours have the same thread, tracepoint and spans more often than not; find_*() is for the others.
  std::optional<uint32_t> node_tid_of(uint32_t tid);
  std::optional<uint32_t> find_thread(uint32_t tid);
  uint32_t tracepoint_of(const Tracepoint& tracepoint);
  uint32_t find_tracepoint(const Tracepoint& tracepoint);
  uint32_t spans_of(std::span<const pool::SpanRef> spans);
  uint32_t find_set(std::span<const pool::SpanRef> spans);
  uint32_t new_set(uint64_t hash, std::span<const pool::SpanRef> spans);

  static constexpr uint32_t kNoSet = UINT32_MAX;

  capture::Capture& capture_;
  capture::BodyEncoder& encoder_;
  ThreadTable& threads_;
  TickTimes& times_;
  const DetailSnapshot* snapshot_ = nullptr;
  const Tracepoint* last_tracepoint_ = nullptr;
  uint32_t last_place_ = 0;
  std::vector<uint32_t> tracepoints_;      // by their places in the snapshot's table: that in the capture, plus one
  std::optional<EventRedactor> redactor_;  // only if there are rules
  std::vector<RedactedPlaces> redacted_;   // as tracepoints_
  std::vector<FieldValue> values_;         // of the current event, if its tracepoint is redacted
  std::unordered_map<uint64_t, uint32_t> sets_;
  std::string last_spans_;
  uint32_t last_set_ = 0;
  std::optional<uint32_t> last_tid_;  // as the program has it
  std::optional<uint32_t> last_node_tid_;
  size_t spans_left_;
  uint64_t events_without_thread_ = 0;
  uint64_t events_without_spans_ = 0;
};

}  // namespace fathom::agent
