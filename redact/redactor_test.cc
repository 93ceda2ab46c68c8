#include "redact/redactor.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fathom {
namespace {

using Rules = std::vector<std::string>;

constexpr size_t kAmpleRoom = 1 << 20;

RedactKey test_key(uint8_t fill = 7) {
  RedactKey key;
  key.bytes.fill(fill);
  return key;
}

std::shared_ptr<const Redactor> make_redactor(const Rules& rules, uint8_t fill = 7) {
  auto made = Redactor::make(rules, test_key(fill));
  EXPECT_TRUE(made.ok()) << made.error().message;
  return made.ok() ? *made : nullptr;
}

std::string redactor_fault(const std::string& rule) {
  const auto made = Redactor::make(Rules{rule}, test_key());
  return made ? "" : made.error().message;
}

// "" where the attribute is dropped.
std::string after(const Rules& rules, std::string_view key, const RedactValue& value) {
  std::string out = "not changed";
  RedactCounts counts{};
  switch (make_redactor(rules)->attribute(key, value, kAmpleRoom, out, counts)) {
    case RedactOutcome::kKept:
      return "kept";
    case RedactOutcome::kDropped:
      return "";
    case RedactOutcome::kChanged:
      break;
  }
  return out;
}

std::string text_after(const Rules& rules, std::string_view text) {
  std::string out;
  RedactCounts counts{};
  const auto outcome = make_redactor(rules)->text(text, kAmpleRoom, out, counts);
  return outcome == RedactOutcome::kKept ? "kept" : out;
}

std::string hash_of(std::string_view text, uint8_t fill = 7) {
  return make_redactor({"hash key k"}, fill)->replaced(RedactAction::kHash, RedactValue::of_text(text));
}

TEST(Redactor, WithoutRulesKeepsEverything) {
  EXPECT_TRUE(make_redactor({})->empty());
  EXPECT_EQ(after({}, "k", RedactValue::of_text("v")), "kept");
  EXPECT_EQ(text_after({}, "v"), "kept");
}

TEST(Redactor, AppliesTheFirstKeyRule) {
  const Rules rules = {"mask key http.*.cookie", "drop key http.*", "hash key user.id", "drop key user.id"};
  EXPECT_EQ(after(rules, "http.request.cookie", RedactValue::of_text("v")), "[masked]");
  EXPECT_EQ(after(rules, "http.request.accept", RedactValue::of_text("v")), "");
  EXPECT_EQ(after(rules, "user.id", RedactValue::of_text("v")), hash_of("v"));
  EXPECT_EQ(after(rules, "user.idx", RedactValue::of_text("v")), "kept");
  EXPECT_EQ(after({"drop key *", "mask key exact"}, "exact", RedactValue::of_text("v")), "");
  EXPECT_EQ(after({"mask key exact", "drop key *"}, "exact", RedactValue::of_text("v")), "[masked]");
}

TEST(Redactor, HashesTheTextOfAValueWithItsKey) {
  EXPECT_EQ(hash_of("v").substr(0, 5), "hmac:");
  EXPECT_EQ(hash_of("v").size(), 5u + 32u);
  EXPECT_NE(hash_of("v"), hash_of("w"));
  EXPECT_NE(hash_of("v", 7), hash_of("v", 8));
  const Rules rules = {"hash key k"};
  EXPECT_EQ(after(rules, "k", RedactValue::of_int(42)), hash_of("42"));
  EXPECT_EQ(after(rules, "k", RedactValue::of_double(0.5)), hash_of("0.5"));
  EXPECT_EQ(after(rules, "k", RedactValue::of_bool(true)), hash_of("true"));
  EXPECT_EQ(after(rules, "k", RedactValue{}), hash_of(""));
}

TEST(Redactor, ReplacesMatchesWithinTexts) {
  const Rules rules = {"mask value [0-9]{13,19}", "hash value [a-z]+@[a-z.]+"};
  EXPECT_EQ(text_after(rules, "card 4111111111111111 of ann@example.org and 4000000000000000"),
            "card [masked] of " + hash_of("ann@example.org") + " and [masked]");
  EXPECT_EQ(text_after(rules, "411111111111"), "kept");
}

TEST(Redactor, ReplacesNothingTwice) {
  EXPECT_EQ(text_after({"hash value secret", "mask value [0-9a-f]+", "mask value m.sked"}, "secret x"),
            hash_of("secret") + " x");
  // Nor does an anchor match behind a replacement.
  EXPECT_EQ(text_after({"mask value ^4"}, "444"), "[masked]44");
  EXPECT_EQ(text_after({"mask value a", "mask value ^b"}, "ab"), "[masked]b");
  EXPECT_EQ(text_after({"mask value b$"}, "bab"), "ba[masked]");
}

// An agent redacts with its rules and the server's, and the server redacts again.
TEST(Redactor, LeavesHashesAndMasksAsTheyAre) {
  const std::string hash = hash_of("ann", 8);
  EXPECT_EQ(after({"hash key k"}, "k", RedactValue::of_text(hash)), hash);
  EXPECT_EQ(after({"hash key k"}, "k", RedactValue::of_text("[masked]")), "[masked]");
  EXPECT_EQ(after({"mask key k"}, "k", RedactValue::of_text(hash)), "[masked]");
  EXPECT_EQ(after({"drop key k"}, "k", RedactValue::of_text(hash)), "");
  EXPECT_NE(after({"hash key k"}, "k", RedactValue::of_text(hash + "0")), hash + "0") << "no hash of ours";
  EXPECT_NE(after({"hash key k"}, "k", RedactValue::of_text(hash.substr(0, 36))), hash.substr(0, 36));
  EXPECT_EQ(text_after({"mask value [0-9a-f]+"}, hash), "kept");
  EXPECT_EQ(text_after({"drop value masked"}, "of [masked]"), "kept");
  EXPECT_EQ(text_after({"mask value [a-z]+"}, "of [masked] and " + hash + "f"),
            "[masked] [masked] [masked] " + hash + "[masked]");
  const Rules rules = {"hash value [a-z]+@[a-z.]+", "mask value [0-9]{3,}", "mask value ^of"};
  const std::string once = text_after(rules, "of ann@example.org, 4111");
  EXPECT_EQ(text_after(rules, once), "kept") << once;
}

TEST(Redactor, SearchesNumbersAndBytes) {
  const Rules card = {"mask value [0-9]{13,19}"};
  EXPECT_EQ(after(card, "k", RedactValue::of_int(4111111111111111)), "[masked]");
  EXPECT_EQ(after(card, "k", RedactValue::of_int(-4111111111111111)), "-[masked]");
  EXPECT_EQ(after(card, "k", RedactValue::of_double(4111111111111111.0)), "[masked]");
  EXPECT_EQ(after(card, "k", RedactValue::of_double(4e15)), "[masked]");  // whose shortest text is 4e+15
  EXPECT_EQ(after(card, "k", RedactValue::of_double(0.25)), "kept");
  EXPECT_EQ(after(card, "k", RedactValue::of_int(4111)), "kept");
  EXPECT_EQ(after({"drop value true"}, "k", RedactValue::of_bool(true)), "");
  EXPECT_EQ(after(card, "k", RedactValue::of_bytes("\xff\x01 4111111111111111 \xfe")), "[masked]");
  EXPECT_EQ(after({"hash value s.cret"}, "k", RedactValue::of_bytes("\xffsecret")), hash_of("\xffsecret"));
}

TEST(Redactor, DropsAnAttributeButMasksAName) {
  const Rules rules = {"mask value a", "drop value secret"};
  EXPECT_EQ(after(rules, "k", RedactValue::of_text("a secret")), "");
  EXPECT_EQ(after(rules, "k", RedactValue::of_text("an open word")), "[masked]n open word");
  EXPECT_EQ(text_after(rules, "a secret"), "[masked]");
}

TEST(Redactor, MatchesMembersByKeyOrPath) {
  const auto redactor = make_redactor({"drop key user.card.number", "mask key password", "hash key http.*.cookie"});
  EXPECT_EQ(redactor->member_action("user.card", "number"), RedactAction::kDrop);
  EXPECT_EQ(redactor->member_action("order", "number"), std::nullopt);
  EXPECT_EQ(redactor->member_action("any.thing", "password"), RedactAction::kMask);
  EXPECT_EQ(redactor->member_action("http.request", "cookie"), RedactAction::kHash);
  EXPECT_EQ(redactor->member_action("http." + std::string(1 << 20, 'x'), "cookie"), RedactAction::kHash);
  EXPECT_EQ(redactor->key_action("card.number"), std::nullopt);
}

TEST(Redactor, CountsChangedValues) {
  const auto redactor = make_redactor({"mask value [0-9]", "hash value x", "drop value secret", "drop key k"});
  std::string out;
  RedactCounts counts{};
  redactor->attribute("k", RedactValue::of_text("v"), kAmpleRoom, out, counts);
  redactor->attribute("j", RedactValue::of_text("1 2 3 x"), kAmpleRoom, out, counts);
  redactor->attribute("j", RedactValue::of_text("a secret"), kAmpleRoom, out, counts);
  redactor->attribute("j", RedactValue::of_text("plain"), kAmpleRoom, out, counts);
  EXPECT_EQ(counts, (RedactCounts{2, 1, 1}));
}

// Replacements are longer than what they replace; the caller cuts them anyway.
TEST(Redactor, WritesHardlyMoreThanTheRoom) {
  const auto redactor = make_redactor({"hash value [0-9]"});
  std::string out;
  RedactCounts counts{};
  redactor->text(std::string(1 << 20, '1'), 1000, out, counts);
  EXPECT_GT(out.size(), 1000u);
  EXPECT_LT(out.size(), 1100u);
  redactor->text("1" + std::string(1 << 20, 'a'), 1000, out, counts);
  EXPECT_EQ(out.size(), 1001u);
}

TEST(Redactor, RefusesExpressionsThatRe2DoesNot) {
  EXPECT_EQ(redactor_fault("mask value a(b"),
            "--redact: 'mask value a(b', column 12: missing ): a(b; the syntax is that of RE2 (no backreferences, no "
            "lookaround)");
  EXPECT_EQ(redactor_fault("mask value abc(?=x)"),
            "--redact: 'mask value abc(?=x)', column 15: invalid perl operator: (?=; the syntax is that of RE2 (no "
            "backreferences, no lookaround)");
  EXPECT_NE(redactor_fault("mask value [0-9]*").find("column 12: the regular expression matches the empty text"),
            std::string::npos);
  EXPECT_NE(redactor_fault("mask value ((a{100}){100}){100}"), "");
}

TEST(Redactor, HasAFingerprintOfRulesAndKey) {
  const Rules hash = {"hash key k"}, mask = {"mask key k"};
  EXPECT_EQ(make_redactor(hash)->fingerprint().size(), 32u);
  EXPECT_EQ(make_redactor(hash)->fingerprint(), make_redactor({" hash  key k "})->fingerprint());
  EXPECT_NE(make_redactor(hash)->fingerprint(), make_redactor(hash, 8)->fingerprint());
  EXPECT_NE(make_redactor(hash)->fingerprint(), make_redactor(mask)->fingerprint());
  EXPECT_EQ(make_redactor(mask)->fingerprint(), make_redactor(mask, 8)->fingerprint());  // which has no use for the key
}

}  // namespace
}  // namespace fathom
