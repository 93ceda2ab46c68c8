#include "node-agent/sources/client_events.h"

#include <algorithm>

#include "base/time.h"
#include "node-agent/sources/event_collector.h"

namespace fathom::agent {

namespace {

class ClientSlice : public Slice {
 public:
  explicit ClientSlice(DetailSnapshot snapshot) : snapshot_(std::move(snapshot)) {}

  bool was_recorded() const override { return true; }
  uint64_t held_bytes() const override { return snapshot_.bytes(); }
  void write(CaptureBuilder& capture) override { write_client_events(snapshot_, capture); }

 private:
  const DetailSnapshot snapshot_;
};

// Of a program that has recorded no event.
class NoClientSlice : public Slice {
 public:
  bool was_recorded() const override { return false; }
  uint64_t held_bytes() const override { return 0; }
  void write(CaptureBuilder&) override {}
};

// Of what was overwritten or left out, missing_until_ticks is the youngest: what is younger is there. In discard mode
// it is the other way round, the youngest are missing, and nobody knows from when on: nothing is sure. After the
// counter jumped, ticks from before are not comparable: those look like ones to come, and again nothing is sure.
uint64_t complete_from_nano(const DetailSnapshot& snapshot, CaptureBuilder& capture) {
  const bool discards = snapshot.shape.mode == pool::DetailMode::kDiscard;
  if (snapshot.missing_until_ticks == 0 && !discards) return capture.begin_nano();
  if (snapshot.missing_until_ticks == UINT64_MAX || discards) return capture.end_nano();
  const uint64_t nano = capture.times().monotonic_nano(snapshot.shape.clock, snapshot.missing_until_ticks);
  return std::clamp(std::min(nano, UINT64_MAX - 1) + 1, capture.begin_nano(), capture.end_nano());
}

void count(const DecodeCounts& counts, CaptureBuilder& capture) {
  capture.count_loss("holes", counts.walk.holes);
  capture.count_loss("hole_bytes", counts.walk.hole_bytes);
  capture.count_loss("unknown_records", counts.walk.unknown_records);
  capture.count_loss("malformed_records", counts.walk.malformed_records);
  capture.count_loss("dropped_spans", counts.walk.dropped_spans);
  capture.count_loss("unknown_tracepoints", counts.unknown_tracepoints);
  capture.count_loss("malformed_payloads", counts.malformed_payloads);
}

}  // namespace

void write_client_events(const DetailSnapshot& snapshot, CaptureBuilder& capture) {
  capture.capture().events_complete_from_nano = complete_from_nano(snapshot, capture);
  EventCollector collector(capture.capture(), capture.body(), capture.threads(), capture.times(),
                           capture.limits().most_spans_in_sets, capture.redaction());
  const DecodeCounts counts = collector.collect(snapshot);
  for (auto& [name, many] : snapshot.losses.list()) capture.count_loss(name, many);
  count(counts, capture);
  capture.count_loss("damaged_descriptions", snapshot.table.damaged());
  capture.count_loss("over_limit_threads_events", collector.events_without_thread());
  capture.count_loss("over_limit_spans_events", collector.events_without_spans());
  if (snapshot.losses.over_budget_chunks != 0 || collector.events_without_thread() != 0) capture.set_truncated();
}

std::vector<Availability> ClientEvents::availability() const {
  return {{.name = std::string(name()), .available = true}};
}

uint64_t ClientEvents::needed_bytes(const SliceRequest& request) const {
  return request.program.detail ? request.budget_bytes : 0;
}

std::unique_ptr<Slice> ClientEvents::slice(const SliceRequest& request) {
  DetailPool* detail = request.program.detail.get();
  if (detail == nullptr) return std::make_unique<NoClientSlice>();
  const pool::Clock clock = detail->file().shape().clock;
  const TickWindow window = request.times.window(clock, request.begin_nano, request.end_nano, now_monotonic_nano());
  return std::make_unique<ClientSlice>(detail->snapshot(window, request.budget_bytes));
}

}  // namespace fathom::agent
