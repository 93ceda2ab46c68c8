// Simulation: one random run of a store, its threads, its clock and its disk, that depends on a seed.
//
// Purpose: checks the promise that every acknowledged span is found exactly once, and every acknowledged capture with
// its content, or the loss is counted (docs/simulation.md). Crashes, full disks and I/O errors must lose nothing.
// Damage to the disk, which comes last in a run, must be reported: by a start that fails, by an error of a read, or by
// a recorded loss whose time range has the missing batch. Every start of the store is the last action of a step, so
// that a replay can continue a run with a start. Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>

#include "base/result.h"
#include "store/testing/simulated_batches.h"
#include "store/testing/simulated_captures.h"
#include "store/testing/simulated_store.h"

namespace fathom::store::testing {

struct SimulationResult {
  std::string fault;  // empty: the run is good
  uint64_t silent_losses = 0;
  uint64_t doubled = 0;
  uint64_t acknowledged = 0;  // batches
  uint64_t acknowledged_captures = 0;
  uint64_t restarts = 0;
  uint64_t checks = 0;
  uint64_t damaged = 0;       // runs that ended with damage to the disk
  uint64_t reported = 0;      // of them, those that lost something or did not start, and reported it
  uint64_t lost = 0;          // acknowledged batches and captures that damage destroyed, and a loss covers
  uint64_t undetectable = 0;  // acknowledged batches in the disk's last write, which it never wrote
  SimulationResult& operator+=(const SimulationResult& other);
};

struct SimulationOptions {
  uint64_t steps = 60;
  Durability durability = Durability::kFsync;
  bool damages = true;
  std::string save;  // the directory for the disk image of a failure; empty: none
  // Tests provoke a failure with it. Called before each start is saved.
  std::function<void(SimulatedBatches&)> before_start;
};

class Simulation {
 public:
  Simulation(uint64_t seed, SimulationOptions options);

  SimulationResult run();
  // Continues a run with its last start, which save_start() saved in `directory`, until it fails or ends.
  static Result<SimulationResult> replay(const std::string& directory);
  // The data directory and the state before the last start, for replay(). Needs `options.save`.
  std::string last_start() const { return rig_.last_start(); }
  void save_start(const std::string& directory) const;

 private:
  using Step = void (Simulation::*)();
  enum class Phase : uint64_t { kSteps, kMend, kLastStart, kDamage, kAfterDamage, kOver };

  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool chance(uint64_t percent) { return below(100) < percent; }
  bool has_failed() const { return !result_.fault.empty(); }
  void fail(const std::string& fault);

  SimulationResult finish();
  void advance();
  void step();
  void append();
  void resend();
  void retry();
  void send_capture();
  void resend_capture();
  void pass_time();
  void suspend();
  void step_clock();
  void settle();
  void drop();
  void restart();
  void arm_crash();
  void break_disk();
  void mend_disk();

  void send(const std::vector<size_t>& numbers);
  void note_answer(SentBatch& sent, const AppendResult& answer);
  void send(SentCapture& sent);
  void stop_and_open(Stop how);
  void clear_disk_faults();
  void start();
  void note_start();
  void stop(Stop how);
  SimulatedTime now() const { return {rig_.elapsed_nano(), clock_steps_, rig_.boots(), steps_at_boot_}; }
  bool is_recent(const SimulatedTime& made) const;
  bool may_be_older(const SimulatedTime& made, uint64_t age_nano) const;
  void allow_drops(uint64_t age_nano);

  void check();
  void compare(const SimulatedBatches::Presence& presence);
  void check_logs();
  void check_captures();
  void report_lost(const SimulatedBatches::Presence& presence);
  void report_lost(const SimulatedCaptures::Presence& presence);

  void damage();
  void work_a_little();
  void damage_while_running();
  void damage_at_rest();
  void continue_after_damage();
  void resend_after_damage();
  void check_start_after_damage(const std::string& fault);
  void check_after_damage();
  void check_captures_after_damage(SimulatedCaptures::Presence& presence);
  void excuse(const std::vector<SentBatch*>& missing);
  bool is_in_last_write(uint64_t order, uint64_t missing) const;
  bool is_covered(const SentBatch& sent, const Loss& loss);
  void excuse_missing(SimulatedBatches::Presence& presence, SimulatedCaptures::Presence& captures);

  void note(const std::string& event);
  void describe_failure();
  template <typename Visit>
  void visit_state(Visit& visit);
  bool load(const std::string& directory);

  const uint64_t seed_;
  const SimulationOptions options_;
  const uint64_t keep_nano_;  // of retention by age; 0: there is none
  std::mt19937_64 random_;
  SimulatedStore rig_;
  SimulatedBatches batches_;
  SimulatedCaptures captures_;
  SimulationResult result_;
  Phase phase_ = Phase::kSteps;
  uint64_t steps_done_ = 0;
  uint64_t acknowledgements_ = 0;
  uint64_t clock_steps_ = 0;
  uint64_t steps_at_boot_ = 0;
  uint64_t crash_after_ = UINT64_MAX;  // changes of the disk during the next start; UINT64_MAX: no crash
  bool retries_next_ = false;
  bool disk_is_broken_ = false;
  std::deque<std::string> history_;

  // Since the damage:
  bool write_was_lost_ = false;
  uint64_t starts_left_ = 0;
  uint64_t counted_batches_ = 0;   // the counter of lost batches before it
  uint64_t counted_captures_ = 0;  // the counter of lost captures before it
  uint64_t counted_left_out_ = 0;  // the counter of traces that were sealed without their older spans, before it
  uint64_t lost_batches_ = 0;
  uint64_t lost_captures_ = 0;
};

}  // namespace fathom::store::testing
