// FaultEnv: the rocksdb::Env of tests. It has a FaultFileSystem, and a clock whose sleeps are short.
//
// After a failed flush or compaction, RocksDB sleeps for a second before it goes on, even while it is being closed.
// Tests make its writes fail hundreds of times. Thread safety: as rocksdb::Env. Ownership: shares the file system; must
// outlive the database.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include <rocksdb/env.h>
#include <rocksdb/system_clock.h>

#include "store/testing/fault_file_system.h"

namespace fathom::store {

constexpr int kMaxSleepMicros = 10'000;

class ShortSleepClock : public rocksdb::SystemClockWrapper {
 public:
  ShortSleepClock() : SystemClockWrapper(rocksdb::SystemClock::Default()) {}
  const char* Name() const override { return "ShortSleepClock"; }
  void SleepForMicroseconds(int micros) override {
    SystemClockWrapper::SleepForMicroseconds(std::min(micros, kMaxSleepMicros));
  }
};

class FaultEnv : public rocksdb::EnvWrapper {
 public:
  explicit FaultEnv(std::shared_ptr<FaultFileSystem> disk) : EnvWrapper(rocksdb::NewCompositeEnv(disk)) {
    file_system_ = std::move(disk);
    system_clock_ = std::make_shared<ShortSleepClock>();
  }
};

}  // namespace fathom::store
