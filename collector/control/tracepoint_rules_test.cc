#include "collector/control/tracepoint_rules.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/testing/temp_directory.h"
#include "collector/control/rules_file.h"
#include "collector/testing/fake_nodes.h"
#include "ingest/limits.h"

namespace fathom::collector {
namespace {

using testing::node_id;

TracepointRequest enable(std::vector<std::string> patterns, std::string service = "") {
  return {.action = TracepointAction::kEnable, .patterns = std::move(patterns), .service = std::move(service)};
}
TracepointRequest disable(std::vector<std::string> patterns, std::string service = "") {
  return {.action = TracepointAction::kDisable, .patterns = std::move(patterns), .service = std::move(service)};
}
std::string words(const std::vector<TracepointRule>& rules) {
  std::string words;
  for (const TracepointRule& rule : rules) {
    words.append(words.empty() ? "" : ",").append(rule.enables ? "+" : "-").append(rule.pattern);
    if (!rule.service.empty()) words.append("@").append(rule.service);
  }
  return words;
}

TEST(TracepointRules, StandInTheOrderInWhichTheyWereSaid) {
  TracepointRules rules;
  ASSERT_TRUE(rules.add(enable({"cache.*", "pay"})).ok());
  ASSERT_TRUE(rules.add(disable({"cache.hit"}, "shop")).ok());
  EXPECT_EQ(words(rules.all()), "+cache.*,+pay,-cache.hit@shop");
}

TEST(TracepointRules, WhatCoversAnOlderOneTakesItsPlace) {
  TracepointRules rules;
  ASSERT_TRUE(rules.add(enable({"cache.hit", "cache.miss", "pay"}, "shop")).ok());
  ASSERT_TRUE(rules.add(disable({"cache.hit"}, "shop")).ok());
  EXPECT_EQ(words(rules.all()), "+cache.miss@shop,+pay@shop,-cache.hit@shop");
  ASSERT_TRUE(rules.add(disable({"cache.*"}, "cart")).ok());
  EXPECT_EQ(rules.all().size(), 4u) << "another service's";
  ASSERT_TRUE(rules.add(disable({"cache.*"})).ok());
  EXPECT_EQ(words(rules.all()), "+pay@shop,-cache.*");
  ASSERT_TRUE(rules.add(enable({"*"}, "shop")).ok());
  EXPECT_EQ(words(rules.all()), "-cache.*,+*@shop") << "of the other services it still holds";
  ASSERT_TRUE(rules.add(disable({"*"})).ok());
  EXPECT_EQ(words(rules.all()), "-*");
}

TEST(TracepointRules, OfANodeAreThatNodesOnly) {
  TracepointRules rules;
  TracepointRequest of_a = enable({"a"});
  of_a.node_id = node_id('a');
  ASSERT_TRUE(rules.add(enable({"a", "b"})).ok());
  ASSERT_TRUE(rules.add(of_a).ok());
  ASSERT_TRUE(rules.add(disable({"b"})).ok());
  EXPECT_EQ(words(rules.of(node_id('a'))), "+a,+a,-b");
  EXPECT_EQ(words(rules.of(node_id('b'))), "+a,-b");
}

TEST(TracepointRules, WhatIsSaidOfOneProcessIsNone) {
  TracepointRequest one = enable({"a"});
  EXPECT_TRUE(TracepointRules::are_made_by(one));
  one.pid = 7;
  EXPECT_FALSE(TracepointRules::are_made_by(one));
  EXPECT_FALSE(TracepointRules::are_made_by({}));
}

TEST(TracepointRules, AreBoundedAndARefusalChangesNothing) {
  TracepointRules rules;
  ASSERT_TRUE(rules.add(enable({"kept"})).ok());
  size_t taken = 1;
  while (rules.add(enable({std::to_string(taken)})).ok()) ++taken;
  EXPECT_EQ(taken, ingest::kMostRules);
  EXPECT_FALSE(rules.add(enable({"1", "one too many"})).ok());
  EXPECT_EQ(rules.all().size(), taken);
  EXPECT_EQ(rules.all()[0].pattern, "kept");
  EXPECT_TRUE(rules.add(disable({"*"})).ok()) << "in place of all others";
  taken = 1;
  while (rules.add(enable({std::to_string(taken) + std::string(200, 'x')})).ok()) ++taken;
  EXPECT_EQ(taken, 20u);
  for (const char* text : {"", "-a", "a,b", "a b", "\xff"}) EXPECT_FALSE(rules.add(enable({text})).ok()) << text;
}

class RulesFile : public ::testing::Test {
 protected:
  void put(const std::string& content) { std::ofstream(directory_ + "/tracepoint-rules") << content; }
  TempDirectory scratch_;
  const std::string directory_ = scratch_.path();
};

TEST_F(RulesFile, KeepsWhatWasSaid) {
  EXPECT_TRUE(read_rules(directory_)->all().empty()) << "there is no file";
  TracepointRules rules;
  TracepointRequest of_a = disable({"a"}, "sh\top");
  of_a.node_id = node_id('a');
  ASSERT_TRUE(rules.add(enable({"cache.*"})).ok());
  ASSERT_TRUE(rules.add(of_a).ok());
  ASSERT_TRUE(write_rules(directory_, rules).ok());
  EXPECT_EQ(read_rules(directory_)->all(), rules.all());
  ASSERT_TRUE(write_rules(directory_, {}).ok());
  EXPECT_TRUE(read_rules(directory_)->all().empty());
  EXPECT_FALSE(write_rules(directory_ + "/nowhere", rules).ok());
}

TEST_F(RulesFile, ThatIsNoneIsSaidSo) {
  for (const std::string& content :
       {std::string("no rules"), std::string(), std::string("\x0a\x05\x08\x01\x12\x01q", 7),
        with_rules_head("no rules"), with_rules_head(std::string_view("\x0a\x05\x08\x01\x12\x01-", 7)),
        std::string(2 << 20, '\0')}) {
    put(content);
    Result<TracepointRules> rules = read_rules(directory_);
    ASSERT_FALSE(rules.ok());
    EXPECT_EQ(rules.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(rules.error().message.find("tracepoint-rules"), std::string::npos);
  }
}

TracepointRules some_rules() {
  TracepointRules rules;
  TracepointRequest of_a = disable({"cart.?dd"});
  of_a.node_id = node_id('a');
  EXPECT_TRUE(rules.add(enable({"cache.*"}, "shop")).ok());
  EXPECT_TRUE(rules.add(of_a).ok());
  return rules;
}

TEST_F(RulesFile, NoticesEveryChangedByteAndEveryMissingOne) {
  const std::string content = encode_rules(some_rules());
  for (size_t at = 0; at < content.size(); ++at) {
    std::string changed = content;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(decode_rules(changed).ok()) << at;
    EXPECT_FALSE(decode_rules(std::string_view(content).substr(0, at)).ok()) << at;
  }
  std::string newer = content;
  newer[8] = 2;
  Result<TracepointRules> rules = decode_rules(newer);
  ASSERT_FALSE(rules.ok());
  EXPECT_EQ(rules.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(rules.error().message.find("version 2"), std::string::npos) << rules.error().message;
}

// To add one after a new version: run this test with FATHOM_WRITE_GOLDEN set to the directory of the golden files.
TEST_F(RulesFile, OfEveryVersionReads) {
  if (const char* directory = std::getenv("FATHOM_WRITE_GOLDEN"))
    std::ofstream(std::string(directory) + "/tracepoint-rules-v1.bin", std::ios::binary) << encode_rules(some_rules());
  std::ifstream file(FATHOM_TESTDATA "/tracepoint-rules-v1.bin", std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  put(content.str());
  Result<TracepointRules> rules = read_rules(directory_);
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  EXPECT_EQ(rules->all(), some_rules().all());
}

}  // namespace
}  // namespace fathom::collector
