#include "store/testing/log_damage.h"

#include <algorithm>
#include <filesystem>

#include "base/time.h"

namespace fathom::store::testing {

namespace {

const std::string kLostBatches = "fathom_store_lost_batches_total";

}  // namespace

void LogDamage::SetUp() {
  ASSERT_EQ(rig_.open(), "");
  for (uint64_t trace = 1; trace <= kBatches; ++trace) append(trace);
  rig_.close();
  lost_before_ = metric(kLostBatches);
}

void LogDamage::append(uint64_t trace) {
  rig_.advance(kNanosPerSecond);
  ASSERT_EQ(append_once(rig_.store(), batch_of(trace)).outcome, AppendOutcome::kDurable);
}

void LogDamage::begin_second_log() {
  rig_.options().durability = Durability::kOs;
  ASSERT_EQ(rig_.open(), "");
  append(kBatches + 1);
  rig_.close();
}

std::vector<std::string> LogDamage::logs() const {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(rig_.path() + "/store")) {
    if (entry.path().extension() == ".log") found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

std::string LogDamage::log() const {
  return std::ranges::max(logs(), {}, [](const std::string& path) { return std::filesystem::file_size(path); });
}

std::vector<uint64_t> LogDamage::missing_traces() {
  std::vector<uint64_t> missing;
  for (uint64_t trace = 1; trace <= kBatches; ++trace) {
    if (!stored_trace(rig_.store(), trace)) missing.push_back(trace);
  }
  return missing;
}

void LogDamage::send_again(const std::vector<uint64_t>& traces) {
  for (const uint64_t trace : traces) {
    const AppendResult again = append_once(rig_.store(), batch_of(trace));
    ASSERT_EQ(again.outcome, AppendOutcome::kDurable);
    ASSERT_FALSE(again.duplicate) << trace;
  }
}

size_t LogDamage::set_aside() const {
  std::error_code none;
  auto files = std::filesystem::directory_iterator(rig_.path() + "/damaged", none);
  return none ? 0 : static_cast<size_t>(std::distance(files, {}));
}

uint64_t LogDamage::counted() const {
  return metric(kLostBatches) - lost_before_;
}

}  // namespace fathom::store::testing
