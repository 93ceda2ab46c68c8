#include "redact/rule.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/name_pattern.h"

namespace fathom {

namespace {

constexpr std::string_view kRuleBlanks = " \t";
constexpr size_t kMostShownRuleBytes = 200;

struct RuleWord {
  std::string_view text;
  size_t at = 0;  // in the rule
};

// The word at or after `at`; empty at the end.
RuleWord word_at(std::string_view rule, size_t at) {
  const size_t begin = std::min(rule.find_first_not_of(kRuleBlanks, at), rule.size());
  const size_t end = std::min(rule.find_first_of(kRuleBlanks, begin), rule.size());
  return {rule.substr(begin, end - begin), begin};
}

std::string quote(std::string_view text) {
  return "'" + std::string(text) + "'";
}

std::optional<RedactAction> action_of(std::string_view word) {
  for (size_t i = 0; i < kRedactActions; ++i) {
    if (redact_action_name(static_cast<RedactAction>(i)) == word) return static_cast<RedactAction>(i);
  }
  return std::nullopt;
}

std::string_view without_trailing_blanks(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kRuleBlanks) + 1);
}

Result<> check_key_pattern(std::string_view rule, const RuleWord& pattern) {
  if (pattern.text.size() > kMostNamePatternBytes) {
    return redact_rule_error(rule, pattern.at,
                             "the pattern has " + std::to_string(pattern.text.size()) + " bytes; " +
                                 std::to_string(kMostNamePatternBytes) + " are allowed");
  }
  const RuleWord more = word_at(rule, pattern.at + pattern.text.size());
  if (more.text.empty()) return {};
  return redact_rule_error(rule, more.at,
                           quote(more.text) +
                               " follows the pattern; write one rule per pattern, and '?' for a blank "
                               "within a key");
}

Result<> check_regex_size(std::string_view rule, const RuleWord& regex) {
  if (regex.text.size() <= kMostRedactRegexBytes) return {};
  return redact_rule_error(rule, regex.at,
                           "the regular expression has " + std::to_string(regex.text.size()) + " bytes; " +
                               std::to_string(kMostRedactRegexBytes) + " are allowed; write several rules");
}

}  // namespace

std::string_view redact_action_name(RedactAction action) {
  switch (action) {
    case RedactAction::kDrop:
      return "drop";
    case RedactAction::kHash:
      return "hash";
    case RedactAction::kMask:
      return "mask";
  }
  return "unknown";
}

Error redact_rule_error(std::string_view text, size_t at, const std::string& reason) {
  const bool is_long = text.size() > kMostShownRuleBytes;
  return invalid("--redact: '" + std::string(text.substr(0, kMostShownRuleBytes)) + (is_long ? "..." : "") +
                 "', column " + std::to_string(at + 1) + ": " + reason);
}

Result<RedactRule> parse_redact_rule(std::string_view text) {
  text = without_trailing_blanks(text);
  const RuleWord action_word = word_at(text, 0);
  const std::optional<RedactAction> action = action_of(action_word.text);
  if (!action) {
    return redact_rule_error(text, action_word.at,
                             quote(action_word.text) +
                                 " is no action; a rule is ACTION key PATTERN or ACTION value "
                                 "REGEX, where ACTION is drop, hash or mask");
  }
  const RuleWord target = word_at(text, action_word.at + action_word.text.size());
  const bool is_key = target.text == "key";
  if (!is_key && target.text != "value") {
    return redact_rule_error(text, target.at,
                             "expected 'key' or 'value', found " + quote(target.text) +
                                 "; for example: " + std::string(action_word.text) + " key user.id");
  }
  RuleWord pattern = word_at(text, target.at + target.text.size());
  if (pattern.text.empty()) {
    return redact_rule_error(text, pattern.at,
                             is_key ? "the pattern of the key is missing; for example: http.request.header.*"
                                    : "the regular expression is missing; for example: [0-9]{13,19}");
  }
  if (!is_key) pattern.text = text.substr(pattern.at);
  const Result<> checked = is_key ? check_key_pattern(text, pattern) : check_regex_size(text, pattern);
  if (!checked) return checked.error();
  return RedactRule{*action, is_key ? RedactTarget::kKey : RedactTarget::kValue, std::string(pattern.text), pattern.at};
}

Result<std::vector<RedactRule>> parse_redact_rules(std::span<const std::string> texts) {
  if (texts.size() > kMostRedactRules) {
    return invalid("--redact: there are " + std::to_string(texts.size()) + " rules; " +
                   std::to_string(kMostRedactRules) +
                   " are allowed; join keys by patterns (*) and regular expressions by '|'");
  }
  std::vector<RedactRule> rules;
  for (const std::string& text : texts) {
    Result<RedactRule> rule = parse_redact_rule(text);
    if (!rule) return rule.error();
    rules.push_back(*std::move(rule));
  }
  return rules;
}

bool has_hash_rule(std::span<const RedactRule> rules) {
  return std::ranges::any_of(rules, [](const RedactRule& rule) { return rule.action == RedactAction::kHash; });
}

}  // namespace fathom
