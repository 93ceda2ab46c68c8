// LogRecords: what a scan of a log finds, for tests that compare it.
//
// Thread safety: the test's own thread. Ownership: copies of the records.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/wal/log_scan.h"

namespace fathom::store::testing {

class LogRecords : public LogVisitor {
 public:
  Result<> on_record(std::string_view record) override {
    records.emplace_back(record);
    return {};
  }
  Result<> on_damage(const LogRange& range) override {
    damages.push_back(range);
    return {};
  }

  std::vector<std::string> records;
  std::vector<LogRange> damages;
};

}  // namespace fathom::store::testing
