// PtFromFunction: a cut around each entry of a function.
//
// Purpose: `fathom record --engine pt --function F`. A breakpoint of the processor waits at F's first instruction
// (symbol_trigger.h) and stops nobody. The window has what ran a while before the entry, how the program came there,
// and goes on for a while after it, because what F does is what was asked for. Nothing tells when F returns: a
// longer call is cut short, and the caller is seen again behind a shorter one. Thread safety: one thread. Errors:
// those of SymbolTrigger.
#pragma once

#include <string>
#include <vector>

#include "snapshot/record/pt/pt_trigger.h"
#include "snapshot/record/pt/symbol_trigger.h"

namespace fathom::snapshot {

class PtFromFunction : public PtTrigger {
 public:
  PtFromFunction(std::string name, uint64_t before_nano, uint64_t after_nano)
      : name_(std::move(name)), before_nano_(before_nano), after_nano_(after_nano) {}
  std::optional<std::string> find(HeldProgram& program) override;
  Result<> begin(PerfSystem& system, const PtRecorder& recorder, pid_t pid) override;
  std::vector<pollfd> poll_events() const override;
  uint64_t poll_nano() const override;
  std::optional<PtCut> due(bool ends) override;
  Result<> rearm() override;
  void disarm() override { triggers_.clear(); }
  std::string fault() const override { return name_ + " was never called"; }

 private:
  void look();

  std::string name_;
  uint64_t before_nano_;
  uint64_t after_nano_;
  std::vector<uint64_t> addresses_;
  std::vector<SymbolTrigger> triggers_;  // one for each function of that name
  PerfSystem* system_ = nullptr;
  Timing timing_;
  std::optional<SymbolFired> entered_;
  uint64_t until_nano_ = 0;
};

}  // namespace fathom::snapshot
