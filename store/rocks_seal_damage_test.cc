// Damage to what is stored does not keep the store from accepting spans: they are sealed without the damaged older
// ones, or the store says that it cannot go on.
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <optional>

#include "store/testing/contract_harness.h"
#include "store/testing/damage.h"
#include "store/testing/populated_store.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

const std::string kSealDamagedReads = "fathom_store_damaged_reads_total";
constexpr uint64_t kFirstNewTrace = 5000;

// A store with many segments whose file of the given number is damaged.
class DamagedStore {
 public:
  DamagedStore() {
    rig_.options().on_unrecoverable = [this](const Error& error) {
      std::lock_guard lock(mutex_);
      why_ = error;
    };
    copy_populated(rig_, /*seed=*/1);
  }
  ~DamagedStore() { rig_.close(); }

  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(rig_.path() + "/store")) {
      if (entry.path().extension() == ".sst") found.push_back(entry.path().string());
    }
    std::ranges::sort(found);
    return found;
  }
  bool open() { return rig_.open().empty(); }
  RocksStore& store() { return rig_.store(); }

  // More spans of every trace, and a new trace; all of them are sealed. False: the store cannot go on.
  bool grow(uint64_t round) {
    std::vector<TestSpan> spans;
    for (uint64_t trace = 1; trace <= 14; ++trace) spans.push_back(test_span(trace, 800 + round, 0, kMilli));
    spans.push_back(test_span(kFirstNewTrace + round, 1, 0, kMilli));
    const AppendResult appended = append_and_wait(store(), make_batch(spans));
    EXPECT_TRUE(appended.outcome == AppendOutcome::kDurable || why()) << appended.message;
    return eventually([this] { return store().settle().ok() || why(); }) && !why();
  }
  std::optional<Error> why() {
    std::lock_guard lock(mutex_);
    return why_;
  }
  const std::string& path() const { return rig_.path(); }

 private:
  std::mutex mutex_;
  std::optional<Error> why_;
  RocksRig rig_{populated_options()};
};

void expect_once_or_damaged(RocksStore& store, uint64_t trace) {
  QueryBudget budget;
  const Result<StoredTrace> found = store.trace(test_trace_id(trace), budget);
  if (found) {
    EXPECT_EQ(found->spans.size(), 1u);
  } else {
    EXPECT_EQ(found.error().code, ErrorCode::kCorrupt) << found.error().message;
  }
}

// Damages the first block of one file. Returns whether sealing left out spans.
bool seals_beside_damage(size_t file) {
  DamagedStore damaged;
  flip_bit(damaged.files()[file], 8 * 3);
  if (!damaged.open()) return false;
  const uint64_t counted = metric(kSealDamagedReads);
  for (uint64_t round = 0; round < 3; ++round) {
    if (damaged.grow(round)) continue;
    EXPECT_EQ(damaged.why()->code, ErrorCode::kCorrupt) << damaged.why()->message;
    EXPECT_NE(damaged.why()->message.find("fathom store repair " + damaged.path()), std::string::npos);
    return false;
  }
  const bool left_out = metric(kSealDamagedReads) > counted;
  for (uint64_t round = 0; round < 3; ++round) expect_once_or_damaged(damaged.store(), kFirstNewTrace + round);
  return left_out;
}

TEST(RocksSealDamage, SpansAreSealedOrTheStoreEnds) {
  const size_t files = DamagedStore().files().size();
  size_t left_out = 0;
  for (size_t file = 0; file < files; ++file) left_out += seals_beside_damage(file) ? 1 : 0;
  EXPECT_GT(left_out, 0u);
}

// Its duration and number of spans are known from the index, whose block is another one.
TEST(RocksSealDamage, ATraceThatLosesABlockBecomesOversized) {
  RocksOptions options;
  options.segment_spans = 10'000;
  RocksRig rig(options);
  ASSERT_EQ(rig.open(), "");
  std::vector<TestSpan> spans;
  for (uint64_t i = 1; i <= 50; ++i) spans.push_back(test_span(1, i, static_cast<int64_t>(i * kMilli), kMilli));
  ASSERT_EQ(append_once(rig.store(), make_batch(spans)).outcome, AppendOutcome::kDurable);
  ASSERT_TRUE(rig.store().settle().ok());
  rig.close();
  std::vector<std::pair<uint64_t, std::string>> files;
  for (const auto& entry : fs::directory_iterator(rig.path() + "/store")) {
    if (entry.path().extension() == ".sst") files.emplace_back(entry.file_size(), entry.path().string());
  }
  flip_bit(std::ranges::max(files).second, 8 * 3);  // the columns are the largest
  ASSERT_EQ(rig.open(), "");
  ASSERT_EQ(append_once(rig.store(), make_batch({test_span(1, 99, 90 * static_cast<int64_t>(kMilli), kMilli)})).outcome,
            AppendOutcome::kDurable);
  ASSERT_TRUE(eventually([&] { return rig.store().settle().ok(); }));
  QueryBudget budget;
  const Result<SlowPage> page = rig.store().slowest({}, By::kTrace, 10, std::nullopt, budget);
  ASSERT_TRUE(page.ok()) << page.error().message;
  ASSERT_EQ(page->rows.size(), 1u);
  EXPECT_TRUE(page->rows[0].oversized);
  EXPECT_EQ(page->rows[0].duration_nano, 90 * kMilli);
  EXPECT_EQ(rig.store().trace(test_trace_id(1), budget).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace fathom::store::testing
