// Simulation: one random run of a store, its threads, its clock and its disk, that depends on a seed.
//
// Purpose: checks the promise that every acknowledged span is found exactly once, and every acknowledged capture with
// its content, or the loss is counted (docs/simulation.md). Crashes, full disks and I/O errors must lose nothing.
// Damage to the disk, which ends a run, must be reported: by a start that fails, by an error of a read, or by a counted
// loss. Thread safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <string>

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
  uint64_t reported = 0;      // of them, those that lost batches or did not start, and reported it
  uint64_t undetectable = 0;  // acknowledged batches in the disk's last write, which it never wrote
  SimulationResult& operator+=(const SimulationResult& other);
};

struct SimulationOptions {
  uint64_t steps = 60;
  Durability durability = Durability::kFsync;
  bool damages = true;
  std::string save;  // the directory for the disk image of a failure; empty: none
};

class Simulation {
 public:
  Simulation(uint64_t seed, SimulationOptions options);

  SimulationResult run();

 private:
  using Step = void (Simulation::*)();

  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool chance(uint64_t percent) { return below(100) < percent; }
  bool has_failed() const { return !result_.fault.empty(); }
  void fail(const std::string& fault);

  void step();
  void append();
  void resend();
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
  void check();

  void send(const std::vector<size_t>& numbers);
  void stop_and_open(Stop how);
  void open_after_crashes();
  void send(SentCapture& sent);
  SimulatedTime now() const { return {rig_.elapsed_nano(), clock_steps_, rig_.boots(), steps_at_boot_}; }
  void stop(Stop how);
  bool is_recent(const SentBatch& sent) const;
  bool may_be_older(const SimulatedTime& made, uint64_t age_nano) const;
  void allow_drops(uint64_t age_nano);
  void check_captures();
  void report_lost(const SimulatedBatches::Presence& presence);
  void report_lost(const SimulatedCaptures::Presence& presence);

  void damage();
  void damage_while_running();
  void check_damaged(uint64_t counted_before);
  void resend_lost(const SimulatedBatches::Presence& presence);
  bool is_covered(uint64_t missing, uint64_t counted);
  void note(const std::string& event);
  void describe_failure();
  void save_image();

  const uint64_t seed_;
  const SimulationOptions options_;
  const uint64_t keep_nano_;  // of retention by age; 0: there is none
  std::mt19937_64 random_;
  SimulatedStore rig_;
  SimulatedBatches batches_;
  SimulatedCaptures captures_;
  SimulationResult result_;
  uint64_t clock_steps_ = 0;
  uint64_t steps_at_boot_ = 0;
  bool disk_is_broken_ = false;
  std::deque<std::string> history_;
  bool write_was_lost_ = false;
};

}  // namespace fathom::store::testing
