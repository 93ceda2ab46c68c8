#include "redact/rule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fathom {
namespace {

std::string rule_fault(const std::string& text) {
  const auto rule = parse_redact_rule(text);
  return rule ? "" : rule.error().message;
}

TEST(RedactRule, IsAnActionATargetAndAPattern) {
  const auto key = parse_redact_rule("  drop \t key http.request.header.*  ");
  ASSERT_TRUE(key.ok()) << key.error().message;
  EXPECT_EQ(key->action, RedactAction::kDrop);
  EXPECT_EQ(key->target, RedactTarget::kKey);
  EXPECT_EQ(key->pattern, "http.request.header.*");
  const auto value = parse_redact_rule("hash value card [0-9]{4} [0-9]{4}");
  ASSERT_TRUE(value.ok()) << value.error().message;
  EXPECT_EQ(value->action, RedactAction::kHash);
  EXPECT_EQ(value->target, RedactTarget::kValue);
  EXPECT_EQ(value->pattern, "card [0-9]{4} [0-9]{4}");
  EXPECT_EQ(value->pattern_at, 11u);
}

TEST(RedactRule, SaysWhereItIsWrongAndWhatWouldBeRight) {
  EXPECT_EQ(rule_fault("hide key user.id"),
            "--redact: 'hide key user.id', column 1: 'hide' is no action; a rule is ACTION key PATTERN or ACTION value "
            "REGEX, where ACTION is drop, hash or mask");
  EXPECT_EQ(
      rule_fault("hash user.id"),
      "--redact: 'hash user.id', column 6: expected 'key' or 'value', found 'user.id'; for example: hash key user.id");
  EXPECT_EQ(rule_fault("mask key"),
            "--redact: 'mask key', column 9: the pattern of the key is missing; for example: http.request.header.*");
  EXPECT_EQ(rule_fault("mask value "),
            "--redact: 'mask value', column 11: the regular expression is missing; for example: [0-9]{13,19}");
  EXPECT_EQ(rule_fault("mask key user.id session.id"),
            "--redact: 'mask key user.id session.id', column 18: 'session.id' follows the pattern; write one rule per "
            "pattern, and '?' for a blank within a key");
  EXPECT_NE(rule_fault(""), "");
}

TEST(RedactRule, HasABound) {
  EXPECT_NE(rule_fault("drop key " + std::string(256, 'k')), "");
  EXPECT_EQ(rule_fault("drop key " + std::string(255, 'k')), "");
  EXPECT_NE(rule_fault("drop value " + std::string(kMostRedactRegexBytes + 1, 'v')), "");
  EXPECT_TRUE(parse_redact_rules(std::vector<std::string>(kMostRedactRules, "drop key k")).ok());
  EXPECT_FALSE(parse_redact_rules(std::vector<std::string>(kMostRedactRules + 1, "drop key k")).ok());
}

TEST(RedactRule, NeedsAKeyToHash) {
  const std::vector<std::string> none = {"drop key a", "mask value b"}, one = {"drop key a", "hash value b"};
  EXPECT_FALSE(has_hash_rule(*parse_redact_rules(none)));
  EXPECT_TRUE(has_hash_rule(*parse_redact_rules(one)));
}

}  // namespace
}  // namespace fathom
