// Redaction rules as text: "ACTION key PATTERN" or "ACTION value REGEX"; ACTION is drop, hash or mask.
//
// Purpose: the one syntax of the key `redact` of fathom-server and fathom-agent. Keys are matched by a name pattern
// (base/name_pattern.h), values by a regular expression of RE2. Thread safety: plain values and pure functions.
// Errors: kInvalid; the message has the rule, the column and the fix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom {

enum class RedactAction : uint8_t { kDrop, kHash, kMask };
inline constexpr size_t kRedactActions = static_cast<size_t>(RedactAction::kMask) + 1;
std::string_view redact_action_name(RedactAction action);  // "drop", "hash", "mask"

enum class RedactTarget : uint8_t { kKey, kValue };

struct RedactRule {
  RedactAction action = RedactAction::kMask;
  RedactTarget target = RedactTarget::kKey;
  std::string pattern;    // of a name, or a regular expression
  size_t pattern_at = 0;  // where it begins in the rule's text
};

inline constexpr size_t kMostRedactRules = 256;
inline constexpr size_t kMostRedactRegexBytes = 1024;

// Splits a rule into its words. A regular expression is the rest of the text; Redactor::make() compiles it.
Result<RedactRule> parse_redact_rule(std::string_view text);
Result<std::vector<RedactRule>> parse_redact_rules(std::span<const std::string> texts);

// Whether a rule needs a secret key.
bool has_hash_rule(std::span<const RedactRule> rules);

// "--redact: 'hide key user.id', column 1: ...": begins with the flag, for cli::ConfigFile::located().
Error redact_rule_error(std::string_view text, size_t at, const std::string& reason);

}  // namespace fathom
