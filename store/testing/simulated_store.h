// SimulatedStore: a RocksStore whose threads, clock and disk a simulation controls.
//
// Purpose: what a simulation does to a store and its environment, each in one call. Before every open it copies the
// data directory to image(), so that a recovery that fails can be run again with visit_state(). Thread safety: none,
// one simulation owns it. Ownership: owns directory, disk, scheduler and store. Units: nanoseconds; elapsed_nano() is
// the true time since the simulation began, whatever the wall clock says and whether the host runs or not. Errors:
// open() returns why the store does not open.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <rocksdb/env.h>

#include "base/testing/temp_directory.h"
#include "base/time.h"
#include "store/rocks/rocks_store.h"
#include "store/testing/fault_env.h"
#include "store/testing/fault_file_system.h"
#include "store/testing/simulated_scheduler.h"
#include "store/testing/span_builder.h"

namespace fathom::store::testing {

enum class Stop { kClose, kKill, kPowerCut };

class SimulatedStore {
 public:
  SimulatedStore(uint64_t seed, Durability durability);
  ~SimulatedStore();

  std::string open();
  // Before the first open(): continues with a copy of such an image, which may be missing.
  void take_image(const std::string& directory);
  // The process ends; the disk keeps what the kind of end leaves. After a power cut the host is off for less than
  // `most_off_nano`, and its next boot begins.
  void stop(Stop how, std::mt19937_64& random, uint64_t most_off_nano = 3 * kNanosPerHour);
  // Appends all of them before any is answered.
  std::vector<AppendResult> append(const std::vector<BatchPtr>& batches);

  RocksStore& store() { return *store_; }
  FaultFileSystem& disk() { return *disk_; }
  SimulatedScheduler& scheduler() { return scheduler_; }
  std::string path() const { return directory_ / "data"; }
  std::string image() const { return last_start() + "/data"; }
  // A directory for the image and, beside it, what else the last start depended on. It stays if the process crashes.
  std::string last_start() const { return directory_ / "last-start"; }

  uint64_t elapsed_nano() const { return scheduler_.now_nano() + away_nano_; }
  uint64_t boots() const { return boots_; }
  void suspend(uint64_t nano) { away_nano_ += nano; }
  // The wall clock: the elapsed time plus an offset, or one moment while it is stalled.
  uint64_t wall_unix_nano() const;
  void set_wall(uint64_t unix_nano);
  void stall_wall() { stalled_unix_nano_ = wall_unix_nano(); }
  // At once; 0: nothing goes for its age.
  void keep(uint64_t age_nano);

  // What the next open() depends on besides the data directory. Only while the store is not open.
  template <typename Visit>
  void visit_state(Visit& visit) {
    scheduler_.visit_state(visit);
    visit("away_nano", away_nano_);
    visit("boots", boots_);
    visit("booted_nano", booted_nano_);
    visit("wall_offset_nano", wall_offset_nano_);
    visit("stalled_unix_nano", stalled_unix_nano_);
    uint64_t keep_nano = options_.retention_age_nano;
    visit("keep_nano", keep_nano);
    options_.retention_age_nano = keep_nano;
  }

 private:
  ClockReading read_clocks() const;
  void boot(uint64_t off_nano);

  TempDirectory directory_;
  SimulatedScheduler scheduler_;
  std::shared_ptr<FaultFileSystem> disk_ = std::make_shared<FaultFileSystem>();
  std::unique_ptr<rocksdb::Env> env_ = std::make_unique<FaultEnv>(disk_);
  uint64_t away_nano_ = 0;  // suspended or off
  uint64_t boots_ = 1;
  uint64_t booted_nano_ = 0;              // elapsed then
  uint64_t wall_offset_nano_ = kTestNow;  // wraps around: a wall clock may be behind the elapsed time
  uint64_t stalled_unix_nano_ = 0;        // 0: it moves
  RocksOptions options_;
  std::unique_ptr<RocksStore> store_;
};

}  // namespace fathom::store::testing
