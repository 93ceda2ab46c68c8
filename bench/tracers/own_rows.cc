#include "bench/tracers/own_rows.h"

#include <fathom/trace.h>

#include <mutex>
#include <optional>

#include "bench/tracers/event_row.h"
#include "client/testing/pool_reader.h"

namespace fathom::bench::tracers {

namespace {

FATHOM_BENCH_INLINE void event_that_is_on(int32_t payload) {
  FATHOM_EVENT_ON("bench.event", "n", payload);
}

FATHOM_BENCH_INLINE void event_that_is_off(int32_t payload) {
  FATHOM_EVENT("bench.event_that_is_off", "n", payload);
}

FATHOM_BENCH_INLINE void start_and_end_span(int32_t payload) {
  fathom_span span;
  fathom_span_start_here(&span, {"bench/op", 8}, FATHOM_INTERNAL);
  fathom_span_set_int(&span, {"items", 5}, payload);
  fathom_span_set_string(&span, {"tenant", 6}, {"0123456789abcdef", 16});
  fathom_span_end(&span);
}

class EventThatIsOff : public LoopRow<event_that_is_off, 1> {
 public:
  EventThatIsOff() { event_that_is_off(0); }  // as EventRow does
};

// Spans are never overwritten: what a loop wrote is taken out before the next one, as the agent would.
class Span : public LoopRow<start_and_end_span, 20'000> {
 public:
  void start_thread() override { start_and_end_span(0); }
  void give_back() override {
    const std::lock_guard lock(mutex_);
    if (!reader_) reader_.emplace(client::testing::PoolReader::of_this_process());
    reader_->take_count();
    reader_->take_count();  // what was sealed by the first
  }
  std::string fault() const override {
    const uint64_t lost = fathom_lost_spans();
    return lost == 0 ? "" : std::to_string(lost) + " spans were lost, so it is not spans that were measured";
  }

 private:
  std::mutex mutex_;
  std::optional<client::testing::PoolReader> reader_;
};

}  // namespace

std::vector<RowEntry> own_rows() {
  return {{"span", make_row<Span>},
          {"tracepoint", make_row<EventRow<event_that_is_on>>},
          {"tracepoint_disabled", make_row<EventThatIsOff>}};
}

}  // namespace fathom::bench::tracers
