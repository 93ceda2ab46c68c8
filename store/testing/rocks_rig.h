// RocksRig: a RocksStore on a disk that a test can fill, break and cut the power of, with a clock that the test moves.
//
// Purpose: what the tests of the engine's robustness share. Thread safety: store() and disk() from any thread while the
// store is open; the rest from the test's own. Ownership: the rig owns directory, disk and store.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <rocksdb/env.h>

#include "base/testing/temp_directory.h"
#include "store/rocks/rocks_store.h"
#include "store/testing/fault_env.h"
#include "store/testing/fault_file_system.h"
#include "store/testing/span_builder.h"
#include "store/testing/test_clocks.h"

namespace fathom::store::testing {

class RocksRig {
 public:
  // Path, disk and clock are the rig's; small caches, no reserve of space unless asked for.
  explicit RocksRig(RocksOptions options = {});
  ~RocksRig();

  // Empty when the store is open, otherwise why it is not.
  std::string open();
  void close() { store_.reset(); }
  std::string reopen();
  bool is_open() const { return store_ != nullptr; }
  // The disk loses what was not synced; the store is opened again over the rest.
  std::string cut_power(std::optional<uint64_t> torn_seed = std::nullopt);

  RocksStore& store() { return *store_; }
  FaultFileSystem& disk() { return *disk_; }
  const std::string& path() const { return options_.path; }
  RocksOptions& options() { return options_; }  // for the next open()
  void advance(uint64_t nano) { clocks_.advance(nano); }
  uint64_t now_unix_nano() const { return clocks_.wall_unix_nano(); }
  TestClocks& clocks() { return clocks_; }

 private:
  TempDirectory directory_;
  std::shared_ptr<FaultFileSystem> disk_ = std::make_shared<FaultFileSystem>();
  std::unique_ptr<rocksdb::Env> env_ = std::make_unique<FaultEnv>(disk_);
  TestClocks clocks_{kTestNow};
  RocksOptions options_;
  std::unique_ptr<RocksStore> store_;
};

// One attempt, and its answer; half of all batches by append_here().
AppendResult append_once(SpanStore& store, BatchPtr batch);
// A trace's spans; nothing when it is not stored. Any other fault fails the test.
std::optional<StoredTrace> stored_trace(SpanStore& store, uint64_t number);
// Spans in the latency cells: what is stored twice counts twice here.
uint64_t counted_spans(SpanStore& store);
// Asks again until the answer is yes. The limit is against hanging only, far beyond what a sanitizer on a busy machine
// needs: how long something takes is no test's business here.
bool eventually(const std::function<bool()>& condition);
// The value of a series as /metrics shows it, e.g. `name{reason="age"}`; 0 while it does not exist.
uint64_t metric(const std::string& series);
// How many seeds a randomised test takes (base/testing/repetitions.h); FATHOM_SEEDS asks for another number.
uint64_t seeds(uint64_t ordinary);

}  // namespace fathom::store::testing
