#include "node-agent/redaction/current_redaction.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "ingest/limits.h"
#include "node-agent/testing/redaction_rules.h"

namespace fathom::agent {
namespace {

using testing::hash_of;
using testing::redaction_of;
using testing::redactor_of;

// What an agent takes of a server is what a server may have.
static_assert(kMostRedactRules <= ingest::kMostRedactionRules);
static_assert(kMostRedactRules * (kMostRedactRegexBytes + 16) <= ingest::kMostRedactionBytes);

// "" where the attribute is dropped.
std::string attribute(const Redaction& redaction, const std::string& key, const std::string& value) {
  std::string out = "not changed";
  switch (redaction.attribute(key, RedactValue::of_text(value), out)) {
    case RedactOutcome::kKept:
      return "kept";
    case RedactOutcome::kDropped:
      return "";
    case RedactOutcome::kChanged:
      break;
  }
  return out;
}

uint64_t redacted(const char* action) {
  return counter("fathom_agent_redacted_total", "", label("action", action)).value();
}

TEST(Redaction, TheServersRulesGetTheResultOfTheAgents) {
  const auto redaction = redaction_of({"hash key user", "mask value secret"},
                                      {"hash key user", "hash key card", "drop key gone", "mask value [0-9]{4}"});
  EXPECT_EQ(attribute(*redaction, "user", "ann"), hash_of("ann", 7)) << "the server leaves a hash as it is";
  EXPECT_EQ(attribute(*redaction, "card", "4111"), hash_of("4111", 8));
  EXPECT_EQ(attribute(*redaction, "gone", "x"), "");
  EXPECT_EQ(attribute(*redaction, "note", "secret 4111"), "[masked] [masked]");
  EXPECT_EQ(attribute(*redaction, "note", "secret"), "[masked]");
  EXPECT_EQ(attribute(*redaction, "note", "4111"), "[masked]");
  EXPECT_EQ(attribute(*redaction, "note", "plain"), "kept");
  EXPECT_EQ(redaction->text("GET /secret/4111"), "GET /[masked]/[masked]");
  EXPECT_EQ(redaction->text("GET /"), "GET /");
}

TEST(Redaction, WhatOneSideDropsIsDropped) {
  const auto redaction = redaction_of({"hash key a", "drop key b"}, {"drop key a", "mask key b", "mask key c"});
  EXPECT_EQ(redaction->key_action("a"), RedactAction::kDrop);
  EXPECT_EQ(redaction->key_action("b"), RedactAction::kDrop);
  EXPECT_EQ(redaction->key_action("c"), RedactAction::kMask);
  EXPECT_EQ(redaction->key_action("d"), std::nullopt);
  EXPECT_EQ(attribute(*redaction, "a", "x"), "");
}

TEST(Redaction, CountsWhatItChanges) {
  const auto redaction = redaction_of({"hash key user", "drop key gone", "mask value secret"});
  const uint64_t hashed = redacted("hash"), dropped = redacted("drop"), masked = redacted("mask");
  attribute(*redaction, "user", "ann");
  attribute(*redaction, "gone", "x");
  attribute(*redaction, "plain", "x");
  redaction->text("a secret name");
  EXPECT_EQ(redacted("hash"), hashed + 1);
  EXPECT_EQ(redacted("drop"), dropped + 1);
  EXPECT_EQ(redacted("mask"), masked + 1);
}

TEST(CurrentRedaction, WithoutRulesThereIsNone) {
  CurrentRedaction current;
  EXPECT_EQ(current.get(), nullptr);
  current.set_own(redactor_of({}));
  EXPECT_EQ(current.get(), nullptr);
  EXPECT_TRUE(current.set_server({}).ok());
  EXPECT_EQ(current.get(), nullptr);
  EXPECT_EQ(rules_of(nullptr), nullptr);
  EXPECT_EQ(rules_of(&current), nullptr);
}

TEST(CurrentRedaction, BothSidesChangeByThemselves) {
  CurrentRedaction current;
  ASSERT_TRUE(current.set_server({"print-1", {"hash key user"}, std::string(32, 8)}).ok());
  ASSERT_NE(current.get(), nullptr);
  EXPECT_EQ(current.get()->server_fingerprint(), "print-1");
  EXPECT_EQ(attribute(*current.get(), "user", "ann"), hash_of("ann", 8));
  current.set_own(redactor_of({"mask key user"}));
  EXPECT_EQ(attribute(*current.get(), "user", "ann"), "[masked]");
  EXPECT_EQ(current.get()->server_fingerprint(), "print-1");
  ASSERT_TRUE(current.set_server({}).ok());
  EXPECT_EQ(current.get()->server_fingerprint(), "");
  EXPECT_EQ(attribute(*current.get(), "user", "ann"), "[masked]");
}

TEST(CurrentRedaction, RulesThatCannotBeAppliedLeaveTheEarlierOnesWithoutFingerprint) {
  CurrentRedaction current;
  ASSERT_TRUE(current.set_server({"print-1", {"drop key user"}, ""}).ok());
  const std::vector<ingest::RedactionRules> wrong = {{"print-2", {"shuffle key user"}, ""},
                                                     {"print-3", {"hash key user"}, "short"}};
  for (const ingest::RedactionRules& rules : wrong) {
    EXPECT_FALSE(current.set_server(rules).ok());
    ASSERT_NE(current.get(), nullptr);
    EXPECT_EQ(attribute(*current.get(), "user", "ann"), "");
    EXPECT_EQ(current.get()->server_fingerprint(), "") << "the server rejects the captures";
  }
}

}  // namespace
}  // namespace fathom::agent
