#include "base/testing/shared_data.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace fathom {
namespace {

namespace fs = std::filesystem;

class SharedData : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "/shared_data_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string put(const std::string& path) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << "x";
    return root_ + path;
  }
  std::string root_;
};

constexpr const char* kBeside = "/shared/data/perf.data.intel_pt-4.14";

TEST_F(SharedData, IsFoundBesideTheRepositoryOfTheProgram) {
  const std::string file = put(kBeside);
  EXPECT_EQ(*find_perf_data({.program = root_ + "/repository/build/release/bin/bench-snapshot"}), file);
}

TEST_F(SharedData, IsWhereTheEnvironmentSays) {
  put(kBeside);
  const std::string program = root_ + "/repository/build/release/bin/bench-snapshot";
  const std::string other = put("/elsewhere/perf.data.intel_pt-4.14");
  EXPECT_EQ(*find_perf_data({.shared_data = root_ + "/elsewhere", .program = program}), other);
  const std::string named = put("/a.data");
  EXPECT_EQ(*find_perf_data({.perf_data = named, .shared_data = root_ + "/elsewhere", .program = program}), named);
}

TEST_F(SharedData, IsNotLookedForElsewhereWhenAPersonNamedIt) {
  put(kBeside);
  const auto found = find_perf_data({.given = root_ + "/typo", .program = root_ + "/repository/bin/bench-snapshot"});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_NE(found.error().message.find("/typo"), std::string::npos);
}

TEST_F(SharedData, SaysWhereItLooked) {
  const auto found = find_perf_data({.program = root_ + "/repository/build/bin/bench-snapshot"});
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find(root_ + kBeside), std::string::npos);
  EXPECT_NE(found.error().message.find("$FATHOM_PERF_DATA"), std::string::npos);
}

}  // namespace
}  // namespace fathom
