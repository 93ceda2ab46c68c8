// WatchRound: which programs are to be looked at when, for spans that are overdue and for triggers of their own.
//
// Purpose: OverdueWatch without its thread. A program is visited as often as its smallest threshold, from 1 to 32 ms
// (down to a power of two, so that programs are visited together), so that each span that may become overdue is known
// by its deadline, and again at that; of those without thresholds only what they trigger is looked for. Thread safety:
// none. Hostility: what the visits of a program, and of all programs of a user, take of the time is bounded
// (cpu_share.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "node-agent/triggers/cpu_share.h"
#include "node-agent/triggers/open_span_scan.h"

namespace fathom::agent {

// Called from within a round. True: what came of it was worth its time; else that is the program's.
class TriggerSink {
 public:
  virtual ~TriggerSink() = default;
  // All that one visit found.
  virtual bool overdue(const std::shared_ptr<const WatchedProgram>& program, std::vector<OverdueSpan> spans) = 0;
  virtual bool asked(const std::shared_ptr<const WatchedProgram>& program, std::vector<ProgramTrigger> triggers) = 0;
  // So many triggers of a program were overwritten before they were read.
  virtual void missed(uint64_t triggers) = 0;
};

class WatchRound {
 public:
  using Now = std::function<uint64_t()>;  // CLOCK_MONOTONIC
  static constexpr uint64_t kShortestNano = 1'000'000;
  static constexpr uint64_t kLongestNano = 32'000'000;
  // Between two visits of a program, whatever becomes overdue in it.
  static constexpr uint64_t kLeastGapNano = 500'000;
  // What a program triggered longer before we came is not looked at.
  static constexpr uint64_t kOldTriggerNano = 5'000'000'000;

  // `longest_nano`: from kShortestNano to kLongestNano.
  WatchRound(ClockSource& clock, TriggerSink& sink, Now now, uint64_t longest_nano = kLongestNano)
      : now_(std::move(now)), longest_nano_(longest_nano), clock_(clock), sink_(sink) {}

  // New, or changed.
  void set(std::shared_ptr<const WatchedProgram> program);
  void remove(uint32_t serial);
  // It is over, and has what it had open: what did it trigger last? Looked for at once, or by the step that knows the
  // time of ticks, also when it is removed in between.
  void look_last(std::shared_ptr<const WatchedProgram> program);
  void set_thresholds(std::shared_ptr<const Thresholds> thresholds);

  // Visits those who are due; returns when the next one will be.
  uint64_t step();

 private:
  struct Watched {
    std::shared_ptr<const WatchedProgram> program;
    std::shared_ptr<const WatchedProgram> last;  // it is over, and to be looked at for the last time
    bool removed = false;                        // to be, when that is done
    OpenSpanScan scan;
    CpuShare share{16, 1'000'000};
    uint64_t due_nano = 0;
    uint32_t ticket = 0;
    bool knows_triggers = false;
    uint64_t waits_since_nano = 0;  // for a trigger that is not complete
  };

  void update_clock(uint64_t now_nano);
  bool may_visit(Watched& watched, uint64_t now_nano);
  void visit(Watched& watched, uint64_t now_nano);
  void look_at_ended(Watched& watched, uint64_t now_nano);
  void look_at_all_that_ended(uint64_t now_nano);
  void spend_since(Watched& watched, uint64_t begin_nano);
  // As TriggerSink::asked().
  bool look_for_triggers(Watched& watched, uint64_t now_nano, bool give_up = false);
  void drop_old(const Watched& watched, std::vector<ProgramTrigger>& triggers, uint64_t now_nano);
  uint64_t next_visit(const Watched& watched, uint64_t now_nano) const;

  const Now now_;
  const uint64_t longest_nano_;
  TickClock clock_;
  TriggerSink& sink_;
  std::shared_ptr<const Thresholds> thresholds_ = std::make_shared<Thresholds>();
  std::map<uint32_t, Watched> programs_;
  std::map<uid_t, CpuShare> users_;
  uint64_t clock_updated_nano_ = 0;
};

}  // namespace fathom::agent
