#include "redact/redactor.h"

#include <re2/re2.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/hmac.h"
#include "base/name_pattern.h"
#include "base/number_text.h"

namespace fathom {

namespace {

using Kind = RedactValue::Kind;

constexpr size_t kHashDigits = 32;
constexpr size_t kNoRedactRule = ~size_t{0};
// Matching a path costs its length, for every member below it. More than this is cut.
constexpr size_t kMostParentsBytes = 512;
constexpr double kLeastInexact = 18446744073709551616.0;  // 2 to the 64

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

struct TextRange {
  size_t begin = 0;
  size_t end = 0;
  bool empty() const { return begin >= end; }
};

// The first match that has a character, within the range; empty when there is none. What is around the range counts for
// ^, $ and \b.
TextRange first_match(const re2::RE2& regex, std::string_view text, TextRange range) {
  for (; !range.empty(); ++range.begin) {
    re2::StringPiece match;
    if (!regex.Match(piece(text), range.begin, range.end, re2::RE2::UNANCHORED, &match, 1)) return {};
    const size_t at = static_cast<size_t>(match.data() - text.data());
    if (!match.empty()) return {at, at + match.size()};
    range.begin = at;
  }
  return {};
}

// How many bytes at the text's begin are a hash or a mask that a Redactor made; 0: they are neither.
size_t redacted_bytes(std::string_view text) {
  if (text.starts_with(kRedactMask)) return kRedactMask.size();
  if (!text.starts_with(kRedactHashPrefix)) return 0;
  const std::string_view digits = text.substr(kRedactHashPrefix.size(), kHashDigits);
  const bool is_hash =
      digits.size() == kHashDigits && digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return is_hash ? kRedactHashPrefix.size() + kHashDigits : 0;
}

// The first hash or mask at or after `from`; empty: there is none.
TextRange find_redacted(std::string_view text, size_t from) {
  constexpr char kFirstLetters[] = {kRedactMask[0], kRedactHashPrefix[0], '\0'};
  for (size_t at = text.find_first_of(kFirstLetters, from); at != std::string_view::npos;
       at = text.find_first_of(kFirstLetters, at + 1)) {
    const size_t bytes = redacted_bytes(text.substr(at));
    if (bytes > 0) return {at, at + bytes};
  }
  return {};
}

// Calls `take` with the range of each part that is no hash or mask, and of each that is one, in their order.
template <typename Take>
void for_each_part(std::string_view text, Take take) {
  for (size_t from = 0; from < text.size();) {
    const TextRange redacted = find_redacted(text, from);
    const size_t plain_end = redacted.empty() ? text.size() : redacted.begin;
    if (plain_end > from) take(TextRange{from, plain_end}, false);
    if (!redacted.empty()) take(redacted, true);
    from = redacted.empty() ? text.size() : redacted.end;
  }
}

bool has_match(const re2::RE2& regex, std::string_view text) {
  bool found = false;
  for_each_part(text, [&](TextRange part, bool is_redacted) {
    found = found || (!is_redacted && !first_match(regex, text, part).empty());
  });
  return found;
}

bool is_redacted_whole(const RedactValue& value) {
  return value.kind == Kind::kText && !value.text.empty() && redacted_bytes(value.text) == value.text.size();
}

re2::RE2::Options regex_options() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(Redactor::kRegexMemoryBytes);
  return options;
}

// What hashes are of: the text that conditions compare, and bytes as they are.
std::string hashed_text(const RedactValue& value) {
  switch (value.kind) {
    case Kind::kEmpty:
      return "";
    case Kind::kText:
    case Kind::kBytes:
      return std::string(value.text);
    case Kind::kInt:
      return number_text(static_cast<int64_t>(value.bits));
    case Kind::kDouble:
      return number_text(std::bit_cast<double>(value.bits));
    case Kind::kBool:
      return value.bits != 0 ? "true" : "false";
  }
  return "";
}

// 4e+15 is 4000000000000000, too. Empty: the number has no such text.
std::string integer_text(double number) {
  if (!(std::fabs(number) < kLeastInexact) || number != std::trunc(number)) return "";
  const std::string digits = number_text(static_cast<uint64_t>(std::fabs(number)));
  return number < 0 ? "-" + digits : digits;
}

}  // namespace

RedactValue RedactValue::of_double(double value) {
  return {Kind::kDouble, {}, std::bit_cast<uint64_t>(value)};
}

// Appends a text to `out`, with the matches of hash and mask rules replaced. What lies between the matches of one rule
// is searched for the next; so a replacement is final, and `out` grows from its front to its end.
class Redactor::Replacer {
 public:
  Replacer(const Redactor& redactor, std::string_view text, size_t room, std::string& out)
      : redactor_(redactor), text_(text), room_(room), out_(out), used_(redactor.value_rules_.size()) {}

  void append() {
    for_each_part(text_, [this](TextRange part, bool is_redacted) {
      append(is_redacted ? used_.size() : redactor_.drop_rules_, part);
    });
  }
  void count(RedactCounts& counts) const {
    for (size_t i = 0; i < used_.size(); ++i) {
      if (used_[i]) ++counts[static_cast<size_t>(redactor_.value_rules_[i].action)];
    }
  }

 private:
  void append(size_t rule, TextRange range) {
    if (is_full() || range.empty()) return;
    if (rule == used_.size()) return append(range);
    for (;;) {
      const TextRange match = first_match(*redactor_.value_rules_[rule].regex, text_, range);
      if (match.empty()) return append(rule + 1, range);
      append(rule + 1, {range.begin, match.begin});
      if (is_full()) return;
      replace(rule, match);
      range.begin = match.end;
    }
  }
  bool is_full() const { return out_.size() > room_; }
  void append(TextRange range) {
    out_.append(text_, range.begin, std::min(range.end - range.begin, room_ - out_.size() + 1));
  }
  void replace(size_t rule, TextRange match) {
    used_[rule] = true;
    const std::string_view text = text_.substr(match.begin, match.end - match.begin);
    out_ += redactor_.replaced(redactor_.value_rules_[rule].action, RedactValue::of_text(text));
  }

  const Redactor& redactor_;
  const std::string_view text_;
  const size_t room_;
  std::string& out_;
  std::vector<bool> used_;
};

Redactor::~Redactor() = default;

Result<std::shared_ptr<const Redactor>> Redactor::make(std::span<const std::string> rules, const RedactKey& key) {
  Result<std::vector<RedactRule>> parsed = parse_redact_rules(rules);
  if (!parsed) return parsed.error();
  std::shared_ptr<Redactor> redactor(new Redactor);
  redactor->key_ = has_hash_rule(*parsed) ? key : RedactKey{};
  std::string all;
  for (size_t i = 0; i < rules.size(); ++i) {
    const RedactRule& rule = (*parsed)[i];
    all.append(redact_action_name(rule.action)).append(rule.target == RedactTarget::kKey ? " key " : " value ");
    all.append(rule.pattern).push_back('\n');
    if (Result<> added = redactor->add(rules[i], rule, i); !added) return added.error();
  }
  redactor->fingerprint_ = hmac_sha256(redactor->key_.view(), all).hex().substr(0, kHashDigits);
  std::ranges::stable_partition(redactor->value_rules_,
                                [](const ValueRule& rule) { return rule.action == RedactAction::kDrop; });
  return std::shared_ptr<const Redactor>(std::move(redactor));
}

Result<> Redactor::add(std::string_view text, RedactRule rule, size_t order) {
  actions_.push_back(rule.action);
  if (rule.target == RedactTarget::kValue) return add_regex(text, rule);
  if (rule.pattern.find_first_of("*?") == std::string::npos) {
    exact_keys_.try_emplace(std::move(rule.pattern), order);
  } else {
    key_patterns_.push_back({order, std::move(rule.pattern)});
  }
  return {};
}

Result<> Redactor::add_regex(std::string_view text, const RedactRule& rule) {
  auto regex = std::make_unique<re2::RE2>(piece(rule.pattern), regex_options());
  if (!regex->ok()) {
    const std::string& wrong = regex->error_arg();
    const size_t at = wrong.empty() ? std::string::npos : rule.pattern.find(wrong);
    return redact_rule_error(text, rule.pattern_at + (at == std::string::npos ? 0 : at),
                             regex->error() + "; the syntax is that of RE2 (no backreferences, no lookaround)");
  }
  if (re2::RE2::PartialMatch("", *regex)) {
    return redact_rule_error(text, rule.pattern_at,
                             "the regular expression matches the empty text; write one that needs a character, such "
                             "as [0-9]+ in place of [0-9]*");
  }
  if (rule.action == RedactAction::kDrop) ++drop_rules_;
  value_rules_.push_back({rule.action, std::move(regex)});
  return {};
}

// The order of the first rule that matches and stands before `before`, or `before`.
size_t Redactor::first_rule(std::string_view key, size_t before) const {
  const auto exact = exact_keys_.find(key);
  if (exact != exact_keys_.end()) before = std::min(before, exact->second);
  for (const KeyPattern& one : key_patterns_) {
    if (one.order >= before) break;
    if (fits_pattern(one.pattern, key)) return one.order;
  }
  return before;
}

std::optional<RedactAction> Redactor::key_action(std::string_view key) const {
  const size_t rule = first_rule(key, kNoRedactRule);
  return rule == kNoRedactRule ? std::nullopt : std::optional(actions_[rule]);
}

std::optional<RedactAction> Redactor::member_action(std::string_view parents, std::string_view key) const {
  const std::string path = std::string(parents.substr(0, kMostParentsBytes)) + "." + std::string(key);
  const size_t rule = first_rule(path, first_rule(key, kNoRedactRule));
  return rule == kNoRedactRule ? std::nullopt : std::optional(actions_[rule]);
}

std::string Redactor::hash(std::string_view text) const {
  return std::string(kRedactHashPrefix) + hmac_sha256(key_.view(), text).hex().substr(0, kHashDigits);
}

std::string Redactor::replaced(RedactAction action, const RedactValue& value) const {
  if (action != RedactAction::kHash) return std::string(kRedactMask);
  return is_redacted_whole(value) ? std::string(value.text) : hash(hashed_text(value));
}

RedactOutcome Redactor::search(std::string_view text, bool is_whole, size_t room, std::string& out,
                               RedactCounts& counts) const {
  size_t first = 0;
  while (first < value_rules_.size() && !has_match(*value_rules_[first].regex, text)) ++first;
  if (first == value_rules_.size()) return RedactOutcome::kKept;
  const RedactAction action = value_rules_[first].action;
  if (action == RedactAction::kDrop || is_whole) ++counts[static_cast<size_t>(action)];
  if (action == RedactAction::kDrop) return RedactOutcome::kDropped;
  out.clear();
  if (is_whole) return out = replaced(action, RedactValue::of_text(text)), RedactOutcome::kChanged;
  Replacer replacer(*this, text, room, out);
  replacer.append();
  replacer.count(counts);
  return RedactOutcome::kChanged;
}

RedactOutcome Redactor::search_number(double number, std::string& out, RedactCounts& counts) const {
  const RedactOutcome outcome = search(number_text(number), false, ~size_t{0} - 1, out, counts);
  const std::string digits = outcome == RedactOutcome::kKept ? integer_text(number) : "";
  return digits.empty() ? outcome : search(digits, false, ~size_t{0} - 1, out, counts);
}

RedactOutcome Redactor::value(const RedactValue& value, size_t room, std::string& out, RedactCounts& counts) const {
  if (!has_value_rules() || value.kind == Kind::kEmpty) return RedactOutcome::kKept;
  if (value.kind == Kind::kDouble) return search_number(std::bit_cast<double>(value.bits), out, counts);
  const bool has_text = value.kind == Kind::kText || value.kind == Kind::kBytes;
  if (has_text) return search(value.text, value.kind == Kind::kBytes, room, out, counts);
  return search(hashed_text(value), false, room, out, counts);
}

RedactOutcome Redactor::text(std::string_view text, size_t room, std::string& out, RedactCounts& counts) const {
  const RedactOutcome outcome = value(RedactValue::of_text(text), room, out, counts);
  if (outcome != RedactOutcome::kDropped) return outcome;
  out = kRedactMask;
  return RedactOutcome::kChanged;
}

RedactOutcome Redactor::attribute(std::string_view key, const RedactValue& value, size_t room, std::string& out,
                                  RedactCounts& counts) const {
  const std::optional<RedactAction> action = key_action(key);
  if (!action) return this->value(value, room, out, counts);
  ++counts[static_cast<size_t>(*action)];
  if (*action == RedactAction::kDrop) return RedactOutcome::kDropped;
  out = replaced(*action, value);
  return RedactOutcome::kChanged;
}

}  // namespace fathom
