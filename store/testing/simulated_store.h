// SimulatedStore: a RocksStore whose threads, clock and disk a simulation controls.
//
// Purpose: what a simulation does to a store and its environment, each in one call. Before every open it copies the
// data directory to image(), so that a recovery that fails can be run again. Thread safety: none, one simulation owns
// it. Ownership: owns directory, disk, scheduler and store. Units: nanoseconds; elapsed_nano() is the true time since
// the simulation began, whatever the wall clock says and whether the host runs or not. Errors: open() returns why the
// store does not open.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <rocksdb/env.h>

#include "base/testing/temp_directory.h"
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
  // The process ends; the disk keeps what the kind of end leaves. After a power cut the host is off for a while, and
  // its next boot begins.
  void stop(Stop how, std::mt19937_64& random);
  // Appends all of them before any is answered.
  std::vector<AppendResult> append(const std::vector<BatchPtr>& batches);

  RocksStore& store() { return *store_; }
  FaultFileSystem& disk() { return *disk_; }
  SimulatedScheduler& scheduler() { return scheduler_; }
  std::string path() const { return directory_ / "data"; }
  std::string image() const { return directory_ / "image"; }

  uint64_t elapsed_nano() const { return scheduler_.now_nano() + away_nano_; }
  uint64_t boots() const { return boots_; }
  void suspend(uint64_t nano) { away_nano_ += nano; }
  // The wall clock: the elapsed time plus an offset, or one moment while it is stalled.
  uint64_t wall_unix_nano() const;
  void set_wall(uint64_t unix_nano);
  void stall_wall() { stalled_unix_nano_ = wall_unix_nano(); }
  // At once; 0: nothing goes for its age.
  void keep(uint64_t age_nano);

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
