// PtFromSpan: a cut when a span of an operation ends, or while it is open, once it is overdue.
//
// Purpose: `fathom record --engine pt --span OPERATION [--min-duration D]`. The pools of the command and of what it
// starts are looked at from outside (step/span_pool_view.h), so that the program pays nothing; the window begins where
// the span did. A span that is over between two looks (0.2 ms) is not seen. Thread safety: one thread. Errors: none.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "snapshot/record/pt/pt_trigger.h"
#include "snapshot/record/step/span_pool_view.h"
#include "snapshot/record/step/tsc_clock.h"

namespace fathom::snapshot {

class PtFromSpan : public PtTrigger {
 public:
  // `least_nano` 0: at the span's end; else as soon as it has been open for so long.
  PtFromSpan(std::string operation, uint64_t least_nano) : operation_(std::move(operation)), least_nano_(least_nano) {}
  Result<> begin(PerfSystem& system, const PtRecorder& recorder, pid_t pid) override;
  uint64_t poll_nano() const override { return step::span_poll_nano(least_nano_); }
  std::optional<PtCut> due(bool ends) override;
  std::string fault() const override { return step::no_span(operation_, least_nano_); }

 private:
  struct Seen {
    pid_t pid = 0;
    step::OpenSpanPlace place;
    uint64_t begin_tsc = 0;
  };
  void follow_processes();
  void look();
  bool was_taken(pid_t pid, const step::OpenSpanPlace& place) const;
  PtCut cut(const char* reason);

  std::string operation_;
  uint64_t least_nano_;
  step::TscClock clock_;
  PerfSystem* system_ = nullptr;
  Timing timing_;
  pid_t command_ = 0;
  uint64_t followed_nano_ = 0;
  std::map<pid_t, step::SpanPoolView> views_;
  std::optional<Seen> seen_;
  std::vector<Seen> taken_;  // and still open
};

}  // namespace fathom::snapshot
