// A lost sorted file of unsealed batches: a repair reports the loss, and the repaired store takes the batches again.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/time.h"
#include "store/testing/damage.h"
#include "store/testing/log_damage.h"
#include "store/verify/repair.h"
#include "store/verify/verify.h"

namespace fathom::store::testing {
namespace {

namespace fs = std::filesystem;

class RocksRepairStage : public LogDamage {
 protected:
  // A start writes the rows of the log to sorted files.
  void SetUp() override {
    LogDamage::SetUp();
    ASSERT_EQ(rig_.open(), "");
    ASSERT_TRUE(eventually([&] { return !table_of("stage").empty() && !table_of("identity").empty(); }));
    rig_.close();
  }
  std::string table_of(const std::string& family) const {
    for (const auto& entry : fs::directory_iterator(rig_.path() + "/store")) {
      const std::string path = entry.path();
      if (path.ends_with(".sst") && contains(path, "name" + family)) return path;
    }
    return "";
  }
  // False, too, if the open store has deleted the file meanwhile.
  static bool contains(const std::string& path, const std::string& part) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    return bytes.find(part) != std::string::npos;
  }
  // Opens the repaired directory.
  void repair(RocksRig& repaired, bool loses) {
    TempDirectory directory;
    Findings findings;
    const RepairRequest request{.from = rig_.path(), .to = directory / "new", .read_clocks = rig_.clocks().reader()};
    ASSERT_TRUE(repair_store(request, findings).ok());
    EXPECT_EQ(findings.intact(), !loses);
    Findings intact;
    ASSERT_TRUE(verify_store(request.to, intact).ok());
    EXPECT_TRUE(intact.intact());
    fs::copy(request.to, repaired.path(), fs::copy_options::recursive);
    repaired.advance(rig_.now_unix_nano() - repaired.now_unix_nano());
    ASSERT_EQ(repaired.open(), "");
  }
  static void expect_duplicates(RocksRig& repaired, bool are_duplicates) {
    for (uint64_t trace = 1; trace <= kBatches; ++trace) {
      const AppendResult again = append_once(repaired.store(), batch_of(trace));
      ASSERT_EQ(again.outcome, AppendOutcome::kDurable);
      EXPECT_EQ(again.duplicate, are_duplicates) << trace;
      EXPECT_TRUE(stored_trace(repaired.store(), trace)) << trace;
    }
    EXPECT_EQ(counted_spans(repaired.store()), kBatches);
  }
};

TEST_F(RocksRepairStage, LosesNothingOfAnIntactDirectory) {
  RocksRig repaired;
  repair(repaired, /*loses=*/false);
  EXPECT_TRUE(repaired.store().losses().empty());
  expect_duplicates(repaired, true);
}

TEST_F(RocksRepairStage, AMissingFileIsALoss) {
  fs::remove(table_of("stage"));
  RocksRig repaired;
  repair(repaired, /*loses=*/true);
  ASSERT_EQ(repaired.store().losses().size(), 1u);
  const Loss loss = repaired.store().losses().front();
  EXPECT_EQ(loss.most_batches, std::nullopt);
  EXPECT_LE(loss.first_received_unix_nano, rig_.now_unix_nano() - (kBatches - 1) * kNanosPerSecond);
  EXPECT_GE(loss.last_received_unix_nano, rig_.now_unix_nano());
  expect_duplicates(repaired, false);
}

TEST_F(RocksRepairStage, AFileWithoutAnEndIsALoss) {
  const std::string path = table_of("stage"), bytes = read_file(path);
  write_file(path, bytes.substr(0, bytes.size() - 60) + std::string(60, '\0'));
  RocksRig repaired;
  repair(repaired, /*loses=*/true);
  EXPECT_EQ(repaired.store().losses().size(), 1u);
  expect_duplicates(repaired, false);
}

// Whether the batch is stored is not known, so it cannot be acknowledged.
TEST_F(RocksRepairStage, ABatchWhoseIdentityIsDamagedIsRejectedWithTheFix) {
  flip_bit(table_of("identity"), 8 * 3);
  ASSERT_EQ(rig_.open(), "");
  const AppendResult again = append_once(rig_.store(), batch_of(1));
  EXPECT_EQ(again.outcome, AppendOutcome::kRetryable);
  EXPECT_NE(again.message.find("fathom store repair " + rig_.path()), std::string::npos) << again.message;
}

TEST_F(RocksRepairStage, LostIdentitiesOfUnsealedBatchesAreDerivedFromThem) {
  fs::remove(table_of("identity"));
  RocksRig repaired;
  repair(repaired, /*loses=*/true);
  EXPECT_TRUE(repaired.store().losses().empty());
  expect_duplicates(repaired, true);
}

}  // namespace
}  // namespace fathom::store::testing
