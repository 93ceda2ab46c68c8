#include "node-agent/agent/state_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_directory.h"

namespace fathom::agent {
namespace {

class StateDirectoryTest : public ::testing::Test {
 public:
  StateDirectoryTest() {
    ::umask(022);  // directories that tests make are for nobody else
  }

 protected:
  TempDirectory scratch_;
  const std::string root_ = scratch_.path();
  const std::string path_ = root_ + "/a/b";
};

TEST_F(StateDirectoryTest, ANodeKeepsItsId) {
  std::array<uint8_t, 16> id;
  {
    Result<StateDirectory> first = StateDirectory::open(path_);
    ASSERT_TRUE(first.ok()) << first.error().message;
    id = first->node_id();
  }
  Result<StateDirectory> second = StateDirectory::open(path_);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->node_id(), id);
  Result<StateDirectory> other = StateDirectory::open(root_ + "/c");
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->node_id(), id);
}

TEST_F(StateDirectoryTest, OneAgentAtATime) {
  Result<StateDirectory> first = StateDirectory::open(path_);
  ASSERT_TRUE(first.ok());
  Result<StateDirectory> second = StateDirectory::open(path_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(second.error().message.find("; stop that one or choose another directory"), std::string::npos);
}

TEST_F(StateDirectoryTest, ADamagedIdIsSaidAndNotReplaced) {
  std::filesystem::create_directories(path_);
  for (const char* text : {"", "xyz", "00000000000000000000000000000000", "0123"}) {
    std::ofstream(path_ + "/node-id") << text;
    Result<StateDirectory> opened = StateDirectory::open(path_);
    ASSERT_FALSE(opened.ok()) << text;
    EXPECT_EQ(opened.error().code, ErrorCode::kCorrupt);
  }
}

// As with one that cannot be opened because too many files are: it is there, so it is not replaced.
TEST_F(StateDirectoryTest, AnIdThatCannotBeReadIsSaidAndNotReplaced) {
  std::filesystem::create_directories(path_);
  std::ofstream(root_ + "/elsewhere") << std::string(32, 'a');
  std::filesystem::create_symlink(root_ + "/elsewhere", path_ + "/node-id");
  Result<StateDirectory> opened = StateDirectory::open(path_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kInternal);
  EXPECT_NE(opened.error().message.find(path_ + "/node-id"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_symlink(path_ + "/node-id"));
}

TEST_F(StateDirectoryTest, LinksAreNotFollowedToWhatTheyNameInside) {
  std::string victim = root_ + "/victim";
  std::ofstream(victim) << "precious";
  for (const char* name : {"/node-id.new", "/lock"}) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    std::filesystem::create_symlink(victim, path_ + name);
    EXPECT_FALSE(StateDirectory::open(path_).ok()) << name;
    EXPECT_EQ(std::filesystem::file_size(victim), 8u) << name;
  }
}

TEST_F(StateDirectoryTest, IsForNobodyElse) {
  namespace fs = std::filesystem;
  ASSERT_TRUE(StateDirectory::open(path_).ok());
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_all);
  for (fs::perms more : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(path_, fs::perms::owner_all | more);
    Result<StateDirectory> opened = StateDirectory::open(path_);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
  }
  fs::permissions(path_, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec);
  EXPECT_TRUE(StateDirectory::open(path_).ok());
  if (::geteuid() != 0) return;  // only root can give it away
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  Result<StateDirectory> opened = StateDirectory::open(path_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
}

TEST_F(StateDirectoryTest, ADirectoryThatCannotBeIsSaid) {
  std::ofstream(root_ + "/file") << "x";
  EXPECT_FALSE(StateDirectory::open(root_ + "/file/below").ok());
}

TEST(BootId, IsTheSameUntilTheNextBoot) {
  EXPECT_EQ(boot_id(), boot_id());
  EXPECT_NE(boot_id(), (std::array<uint8_t, 16>{}));
  EXPECT_NE(random_id(), random_id());
}

}  // namespace
}  // namespace fathom::agent
