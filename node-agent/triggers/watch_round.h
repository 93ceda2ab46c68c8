// WatchRound: schedules the visits of programs that look for overdue spans and for the programs' own triggers.
//
// Purpose: OverdueWatch without its thread. A program is visited once per smallest threshold of its service, within the
// bounds of WatchPace, rounded down to a power of two in milliseconds so that programs are visited together. A span
// whose threshold is not shorter than the interval is normally seen before its deadline, and again at the deadline; one
// with a shorter threshold is seen up to an interval late. Programs without thresholds are only searched for their own
// triggers. Programs that have called fathom::trigger() are visited every 4 ms, whatever the pace. Thread safety: none.
// Hostility: the visits of each program, and of all programs of a user, get a bounded share of the time (cpu_share.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "node-agent/triggers/cpu_share.h"
#include "node-agent/triggers/open_span_scan.h"

namespace fathom::agent {

// Called from within a round. True: the find was worth its time. False: the time is charged to the program.
class TriggerSink {
 public:
  virtual ~TriggerSink() = default;
  // All overdue spans that one visit found.
  virtual bool overdue(const std::shared_ptr<const WatchedProgram>& program, std::vector<OverdueSpan> spans) = 0;
  virtual bool asked(const std::shared_ptr<const WatchedProgram>& program, std::vector<ProgramTrigger> triggers) = 0;
  // This many triggers of a program were overwritten before they were read.
  virtual void missed(uint64_t triggers) = 0;
};

// The interval between two visits of a program. Each visit costs some microseconds, also when nothing is overdue.
struct WatchPace {
  uint64_t shortest_nano = 1'000'000;
  uint64_t longest_nano = 32'000'000;  // a power of two in milliseconds, as is the shortest
};

class WatchRound {
 public:
  using Now = std::function<uint64_t()>;  // CLOCK_MONOTONIC
  // The shortest time between two visits of a program, even if spans become overdue in between.
  static constexpr uint64_t kLeastGapNano = 500'000;
  // At the first visit, triggers older than this are ignored.
  static constexpr uint64_t kOldTriggerNano = 5'000'000'000;

  WatchRound(ClockSource& clock, TriggerSink& sink, Now now, const WatchPace& pace = {})
      : now_(std::move(now)), pace_(pace), clock_(clock), sink_(sink) {}

  // Adds or updates a program.
  void set(std::shared_ptr<const WatchedProgram> program);
  void remove(uint32_t serial);
  // The program has ended and still has its OpenArea: reads its last triggers, at once or in the next step that knows
  // the time of ticks, even if the program is removed in between.
  void look_last(std::shared_ptr<const WatchedProgram> program);
  void set_thresholds(std::shared_ptr<const Thresholds> thresholds);

  // Visits the programs that are due. Returns the time of the next visit.
  uint64_t step();

 private:
  struct Watched {
    std::shared_ptr<const WatchedProgram> program;
    std::shared_ptr<const WatchedProgram> last;  // it has ended, and is to be read for the last time
    bool removed = false;                        // remove() was called; done after that
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
  const WatchPace pace_;
  TickClock clock_;
  TriggerSink& sink_;
  std::shared_ptr<const Thresholds> thresholds_ = std::make_shared<Thresholds>();
  std::map<uint32_t, Watched> programs_;
  std::map<uid_t, CpuShare> users_;
  uint64_t clock_updated_nano_ = 0;
};

}  // namespace fathom::agent
