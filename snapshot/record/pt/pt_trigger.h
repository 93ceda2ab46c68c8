// PtTrigger: who decides when a command's rings are cut, and from where on.
//
// Purpose: the rings hold the past, so a trigger that comes late loses nothing but what was overwritten meanwhile.
// Thread safety: one thread. Ownership: the caller's; the recorder outlives it. Errors: fault() says why there never
// was anything to cut. Units: in the names. See step/step_trigger.h, its counterpart of the stepper.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/record/pt/held_program.h"
#include "snapshot/record/pt/pt_recorder.h"

namespace fathom::snapshot {

struct PtCut {
  SnapshotWindow window;
  Trigger trigger;
};

class PtTrigger {
 public:
  virtual ~PtTrigger() = default;
  // Whether it wants the command behind exec(), by HeldProgram::start_mapped().
  virtual bool wants_mapped() const { return true; }
  // The command stands; nothing is armed yet. A fault: there is nothing that could be waited for; it runs unrecorded.
  virtual std::optional<std::string> find(HeldProgram&) { return std::nullopt; }
  // It is armed, and still stands.
  virtual Result<> begin(PerfSystem&, const PtRecorder&, pid_t) { return {}; }
  virtual std::vector<pollfd> poll_events() const { return {}; }
  // How often due() wants to be asked.
  virtual uint64_t poll_nano() const { return 100'000'000; }
  // `ends`: nobody asks again; what is under way is cut now.
  virtual std::optional<PtCut> due(bool ends) = 0;
  // What was due is taken; another one may come.
  virtual Result<> rearm() { return {}; }
  // Nothing more will be asked: what it has of the processor is given back, while the command may still run.
  virtual void disarm() {}
  virtual std::string fault() const = 0;
};

// The whole command: cut when it ends.
class PtFromStart : public PtTrigger {
 public:
  bool wants_mapped() const override { return false; }
  std::optional<PtCut> due(bool ends) override {
    if (!ends) return std::nullopt;
    return PtCut{{}, {.reason = "window", .tsc = 0, .tid = -1, .trace_id = {}, .span_id = {}}};
  }
  std::string fault() const override { return "it ended at once"; }
};

// Ticks of the time-stamp counter; without a conversion, nanoseconds are taken for ticks.
inline uint64_t ticks_of_nano(const Timing& timing, uint64_t nano) {
  return timing.conversion_mult == 0 ? nano : tsc_of_time(timing, timing.conversion_zero_nano + nano);
}

}  // namespace fathom::snapshot
