// Every flipped bit of a data directory is detected by verification, by the start of the store or by a read, or it
// changes no answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <random>

#include "store/testing/damage.h"
#include "store/testing/populated_store.h"
#include "store/verify/verify.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

struct Flip {
  std::string file;  // relative to the directory
  uint64_t bit = 0;
};

// Each byte of the directory is as likely as every other.
class FlipPicker {
 public:
  FlipPicker(const std::string& path, uint64_t seed) : random_(seed) {
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (!entry.is_regular_file() || entry.path().filename() == "ballast") continue;
      files_.emplace_back(fs::relative(entry.path(), path), entry.file_size());
    }
    std::ranges::sort(files_);
    for (const auto& [name, bytes] : files_) total_ += bytes;
  }

  Flip pick() {
    uint64_t byte = random_() % total_;
    for (const auto& [name, bytes] : files_) {
      if (byte < bytes) return {name, 8 * byte + random_() % 8};
      byte -= bytes;
    }
    return {};
  }

 private:
  std::mt19937_64 random_;
  std::vector<std::pair<std::string, uint64_t>> files_;
  uint64_t total_ = 0;
};

class RocksFlips : public ::testing::Test {
 protected:
  void SetUp() override {
    copy_populated(original_, /*seed=*/1);
    RocksRig rig(populated_options());
    copy_populated(rig, /*seed=*/1);
    ASSERT_EQ(rig.open(), "");
    expected_ = all_answers(rig.store());
    ASSERT_FALSE(expected_.has_errors);
  }

  // How the store handled the flip; empty: an answer is wrong and nothing says so.
  std::string outcome_of_store(const Flip& flip) {
    RocksRig rig(populated_options());
    copy_populated(rig, /*seed=*/1);
    flip_bit(rig.path() + "/" + flip.file, flip.bit);
    if (!rig.open().empty()) return "start";
    const Answers answers = all_answers(rig.store());
    if (!rig.store().losses().empty()) return "start";
    if (answers.texts == expected_.texts) return "no change";
    return answers.has_errors ? "read" : "";
  }
  bool is_found_by_verification(const Flip& flip) {
    RocksRig rig(populated_options());
    copy_populated(rig, /*seed=*/1);
    flip_bit(rig.path() + "/" + flip.file, flip.bit);
    Findings findings;
    return !verify_store(rig.path(), findings) || !findings.intact();
  }

  RocksRig original_{populated_options()};
  Answers expected_;
};

// An iterator that meets a damaged table must say so, and not end as if nothing followed.
TEST_F(RocksFlips, NoTableHidesOthers) {
  for (const auto& entry : fs::directory_iterator(original_.path() + "/store")) {
    if (entry.path().extension() != ".sst") continue;
    const std::string file = "store/" + entry.path().filename().string();
    EXPECT_NE(outcome_of_store({file, 8 * 3}), "") << file;
  }
}

TEST_F(RocksFlips, AReadNamesTheFixAndIsCounted) {
  const std::string counter = "fathom_store_damaged_reads_total";
  uint64_t reads = 0;
  for (const auto& entry : fs::directory_iterator(original_.path() + "/store")) {
    if (entry.path().extension() != ".sst" || reads == 2) continue;
    RocksRig rig(populated_options());
    copy_populated(rig, /*seed=*/1);
    flip_bit(rig.path() + "/store/" + entry.path().filename().string(), 8 * 3);
    if (!rig.open().empty()) continue;
    const uint64_t counted = metric(counter);
    const Answers answers = all_answers(rig.store());
    if (!answers.has_errors) continue;
    ++reads;
    EXPECT_GT(metric(counter), counted);
    EXPECT_TRUE(std::ranges::any_of(answers.texts, [&](const std::string& text) {
      return text.find("fathom store repair " + rig.path()) != std::string::npos;
    }));
  }
  EXPECT_GT(reads, 0u);
}

// Bad sectors. The disk may be readable later, so a sender or reader may try again.
TEST_F(RocksFlips, AReadThatTheDiskRejectsNamesTheFixAndIsCounted) {
  RocksRig rig(populated_options());
  copy_populated(rig, /*seed=*/1);
  ASSERT_EQ(rig.open(), "");
  const uint64_t counted = metric("fathom_store_damaged_reads_total");
  rig.disk().fail_reads(true);
  const Answers answers = all_answers(rig.store());
  QueryBudget budget;
  const Result<SlowPage> page = rig.store().slowest({}, By::kTrace, 1000, std::nullopt, budget);
  rig.disk().fail_reads(false);
  EXPECT_TRUE(answers.has_errors);
  EXPECT_GT(metric("fathom_store_damaged_reads_total"), counted);
  ASSERT_FALSE(page.ok());
  EXPECT_EQ(page.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(page.error().message.find("if the disk still cannot read it, stop the server"), std::string::npos);
  EXPECT_NE(page.error().message.find("fathom store repair " + rig.path()), std::string::npos) << page.error().message;
  EXPECT_EQ(all_answers(rig.store()).texts, expected_.texts);
}

// A compaction reads what no query reads. To start again does not help then.
TEST_F(RocksFlips, DamageThatStopsRocksDbIsToldApartFromAFaultOfTheDisk) {
  uint64_t stops = 0;
  for (const auto& entry : fs::directory_iterator(original_.path() + "/store")) {
    if (entry.path().extension() != ".sst" || stops > 0) continue;
    std::mutex mutex;
    std::optional<Error> why;
    RocksRig rig(populated_options());
    rig.options().on_unrecoverable = [&](const Error& error) {
      std::lock_guard lock(mutex);
      why = error;
    };
    copy_populated(rig, /*seed=*/1);
    flip_bit(rig.path() + "/store/" + entry.path().filename().string(), 8 * 3);
    if (!rig.open().empty() || rig.store().settle().ok()) continue;
    const auto is_stopped = [&] {
      std::lock_guard lock(mutex);
      return why.has_value();
    };
    if (!eventually(is_stopped)) continue;
    rig.close();
    ++stops;
    EXPECT_EQ(why->code, ErrorCode::kCorrupt);
    EXPECT_NE(why->message.find("fathom store repair " + rig.path()), std::string::npos) << why->message;
  }
  EXPECT_GT(stops, 0u);
}

TEST_F(RocksFlips, AreHandled) {
  const uint64_t seed = 20261127;
  FlipPicker picker(original_.path(), seed);
  std::map<std::string, uint64_t> outcomes;
  for (uint64_t number = 0; number < seeds(60); ++number) {
    const Flip flip = picker.pick();
    std::string how = outcome_of_store(flip);
    // Contents of captures are not hashed when they are read.
    if (how.empty() && flip.file.starts_with("captures/") && is_found_by_verification(flip)) how = "verify";
    EXPECT_NE(how, "") << "seed " << seed << ", flip " << number << ": bit " << flip.bit << " of " << flip.file;
    ++outcomes[how];
  }
  for (const auto& [how, count] : outcomes) RecordProperty("handled by " + how, static_cast<int>(count));
}

}  // namespace
}  // namespace fathom::store::testing
