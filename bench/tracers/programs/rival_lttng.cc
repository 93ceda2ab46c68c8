// rival-lttng: LTTng-UST's tracepoint and tracef(), as rows. Somebody else has started the session daemon and enabled
// the events; LTTNG_UST_REGISTER_TIMEOUT=-1 makes this program wait for that. See bench/tracers/row_program.h.
#define _LGPL_SOURCE  // NOLINT(bugprone-reserved-identifier): liburcu inline, which the survey found to be 5 ns faster
#include <lttng/tracef.h>

#include "bench/tracers/programs/lttng_event.h"
#include "bench/tracers/row_program.h"

namespace {

using namespace fathom::bench::tracers;

constexpr uint32_t kCallsToFill = 250'000;  // four usual buffers of 512 KiB, 10 bytes each time

FATHOM_BENCH_INLINE void lttng_event(int32_t payload) {
  lttng_ust_tracepoint(fathom_bench, event, payload);
}

FATHOM_BENCH_INLINE void lttng_event_small(int32_t payload) {
  lttng_ust_tracepoint(fathom_bench, event_small, payload);
}

FATHOM_BENCH_INLINE void lttng_text(int32_t payload) {
  lttng_ust_tracef("%d", payload);
}

class Tracepoint : public LoopRow<lttng_event, kCallsToFill> {
 public:
  std::string fault() const override {
    return lttng_ust_tracepoint_enabled(fathom_bench, event) ? "" : "the tracepoint is not enabled";
  }
};

class SmallTracepoint : public LoopRow<lttng_event_small, kCallsToFill> {
 public:
  std::string fault() const override {
    return lttng_ust_tracepoint_enabled(fathom_bench, event_small) ? "" : "the tracepoint is not enabled";
  }
};

class Tracef : public LoopRow<lttng_text, kCallsToFill> {
 public:
  std::string fault() const override {
    return lttng_ust_tracepoint_enabled(lttng_ust_tracef, event) ? "" : "tracef() is not enabled";
  }
};

}  // namespace

int main(int argc, char** argv) {
  return run_row_program({{"lttng_ust", make_row<Tracepoint>},
                          {"lttng_ust_small", make_row<SmallTracepoint>},
                          {"tracef", make_row<Tracef>}},
                         argc, argv);
}
