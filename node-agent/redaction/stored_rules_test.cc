#include "node-agent/redaction/stored_rules.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "base/testing/temp_directory.h"

namespace fathom::agent {
namespace {

class StoredRulesTest : public ::testing::Test {
 protected:
  TempDirectory directory_;
  const std::string path_ = directory_ / "rules";
  const ingest::RedactionRules rules_{"print", {"hash key user", "mask value [0-9]{16}"}, std::string(32, '\xfe')};
};

TEST_F(StoredRulesTest, ComeBack) {
  EXPECT_EQ(load_rules(path_).value(), ingest::RedactionRules()) << "there is no file";
  ASSERT_TRUE(store_rules(path_, rules_).ok());
  EXPECT_EQ(load_rules(path_).value(), rules_);
  const ingest::RedactionRules others{"print-2", {"drop key user"}, ""};
  ASSERT_TRUE(store_rules(path_, others).ok());
  EXPECT_EQ(load_rules(path_).value(), others);
  ASSERT_TRUE(store_rules(path_, {}).ok());
  EXPECT_EQ(load_rules(path_).value(), ingest::RedactionRules());
  EXPECT_TRUE(store_rules(path_, {}).ok());
}

TEST_F(StoredRulesTest, OnlyTheOwnerReadsTheKey) {
  ASSERT_TRUE(store_rules(path_, rules_).ok());
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST_F(StoredRulesTest, AnAgentThatWasKilledLeavesNothingInTheWay) {
  std::ofstream(path_ + ".new") << "half";
  ASSERT_TRUE(store_rules(path_, rules_).ok());
  EXPECT_EQ(load_rules(path_).value(), rules_);
}

TEST_F(StoredRulesTest, DamageIsAnError) {
  for (const char* content : {"", "no message", "\x12\x02\x08\x01"}) {
    std::ofstream(path_, std::ios::trunc) << content;
    const auto loaded = load_rules(path_);
    ASSERT_FALSE(loaded.ok()) << content;
    EXPECT_NE(loaded.error().message.find(path_), std::string::npos);
  }
}

}  // namespace
}  // namespace fathom::agent
