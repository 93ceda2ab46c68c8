// LogDamage: a closed store whose log has 60 batches, for tests that damage the log; trace n was received in second n.
//
// Thread safety: the test's own thread. Ownership: owns the rig.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/testing/rocks_rig.h"

namespace fathom::store::testing {

class LogDamage : public ::testing::Test {
 protected:
  static constexpr uint64_t kBatches = 60;

  void SetUp() override;
  static BatchPtr batch_of(uint64_t trace) { return make_batch({test_span(trace, 1, 0, 10)}); }
  void append(uint64_t trace);
  // A start that keeps the log: with kFsync, tables replace it. It writes one more batch to a second log.
  void begin_second_log();

  std::vector<std::string> logs() const;  // the paths of all, the oldest first
  // The largest log: only one of them has batches.
  std::string log() const;
  std::string newest_log() const { return logs().back(); }
  std::vector<uint64_t> missing_traces();
  // The batches of these traces are stored, and are no duplicates.
  void send_again(const std::vector<uint64_t>& traces);
  size_t set_aside() const;  // files in DIR/damaged
  uint64_t counted() const;  // in fathom_store_lost_batches_total, since SetUp()

  RocksRig rig_;

 private:
  uint64_t lost_before_ = 0;
};

}  // namespace fathom::store::testing
