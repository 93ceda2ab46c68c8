#include "collector/agents/node_keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fathom::collector {
namespace {

using ingest::NodeId;
using ingest::NodeKey;

template <typename AnyId>
AnyId filled(uint8_t byte) {
  AnyId id;
  id.bytes.fill(byte);
  return id;
}

class NodeKeysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(directory_);
    open();
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void open() {
    auto opened = NodeKeys::open(directory_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    keys_ = *opened;
  }
  bool admit(uint8_t node, uint8_t key) {
    return keys_->admit(filled<NodeId>(node), filled<NodeKey>(key)) == NodeKeys::Verdict::kAdmitted;
  }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string directory_ = ::testing::TempDir() + "node-keys-" + std::to_string(::getpid());
  const std::string path_ = directory_ + "/node-keys";
  std::shared_ptr<NodeKeys> keys_;
};

TEST_F(NodeKeysTest, TheFirstKeyOfANodeIsItsKey) {
  EXPECT_TRUE(admit(1, 7));
  EXPECT_TRUE(admit(1, 7));
  EXPECT_FALSE(admit(1, 8));
  EXPECT_FALSE(admit(1, 0)) << "an agent of an earlier version cannot take its place";
  EXPECT_TRUE(admit(2, 8)) << "another node";
}

TEST_F(NodeKeysTest, AgentsWithoutAKeyAreLetInUntilOneComesWithIt) {
  EXPECT_TRUE(admit(1, 0));
  EXPECT_TRUE(admit(1, 0));
  EXPECT_TRUE(admit(1, 7)) << "the agent was upgraded";
  EXPECT_FALSE(admit(1, 0));
}

TEST_F(NodeKeysTest, KeysOutliveTheServerAndAreNotInTheFile) {
  EXPECT_TRUE(admit(1, 7));
  EXPECT_TRUE(admit(2, 8));
  open();
  EXPECT_FALSE(admit(1, 8));
  EXPECT_TRUE(admit(1, 7));
  EXPECT_FALSE(admit(2, 7));
  EXPECT_EQ(text().find(filled<NodeKey>(7).hex()), std::string::npos);
  struct stat about {};
  ASSERT_EQ(::stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
}

TEST_F(NodeKeysTest, AHalfWrittenLineIsNoKey) {
  EXPECT_TRUE(admit(1, 7));
  const std::string whole = text();
  EXPECT_TRUE(admit(2, 8));
  std::filesystem::resize_file(path_, text().size() - 5);
  open();
  EXPECT_EQ(text(), whole);
  EXPECT_FALSE(admit(1, 8));
  EXPECT_TRUE(admit(2, 9)) << "it was not acknowledged";
  open();
  EXPECT_FALSE(admit(2, 8));
}

TEST_F(NodeKeysTest, ALineThatIsTakenOutFreesTheId) {
  EXPECT_TRUE(admit(1, 7));
  EXPECT_TRUE(admit(2, 8));
  const std::string lines = text();
  std::ofstream(path_) << "nonsense\n" << lines.substr(lines.find('\n') + 1);
  ASSERT_TRUE(keys_->reload().ok());
  EXPECT_TRUE(admit(1, 9));
  EXPECT_FALSE(admit(2, 9));
}

TEST_F(NodeKeysTest, ManyNewNodesAtOnceWait) {
  NodeId id = filled<NodeId>(1);
  size_t admitted = 0;
  for (uint32_t i = 0; i < 3000; ++i) {
    std::memcpy(id.bytes.data(), &i, sizeof i);
    admitted += keys_->admit(id, filled<NodeKey>(7)) == NodeKeys::Verdict::kAdmitted;
  }
  EXPECT_GE(admitted, 1000U);
  EXPECT_LT(admitted, 2000U);
  EXPECT_EQ(keys_->admit(filled<NodeId>(0), filled<NodeKey>(0)), NodeKeys::Verdict::kAdmitted) << "it needs no room";
}

TEST(NodeKeys, InMemoryWithoutADirectory) {
  const auto keys = *NodeKeys::open("");
  EXPECT_EQ(keys->admit(filled<NodeId>(1), filled<NodeKey>(7)), NodeKeys::Verdict::kAdmitted);
  EXPECT_EQ(keys->admit(filled<NodeId>(1), filled<NodeKey>(8)), NodeKeys::Verdict::kWrongKey);
}

}  // namespace
}  // namespace fathom::collector
