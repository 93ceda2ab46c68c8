// Redactor: compiled redaction rules, applied to attributes and texts before they are stored or leave their host.
//
// Purpose: agents and the server redact alike. It knows no type of the store or of the wire: callers pass keys and
// values. Key rules: the first that matches, in the order of the rules, decides. Value rules: "drop" rules are tried
// first, on the whole text; then every hash and mask rule replaces its matches, in the order of the rules, outside of
// what an earlier rule replaced. A key rule that matched leaves nothing for value rules. A hash and a mask stay as they
// are, wherever they stand in a text: rules may be applied to a result again, on the next host, and a value that was
// hashed once has one hash. Only drop and mask rules for its key still apply to a hash.
// Thread safety: immutable, all methods are safe. Ownership: results are in the caller's strings.
// Memory: each regular expression has kRegexMemoryBytes; when its cache is full, RE2 searches slower, still in linear
// time. Errors: make() says which rule is wrong, where, and the fix.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "redact/rule.h"

namespace re2 {
class RE2;
}

namespace fathom {

using RedactKey = Id<32>;

inline constexpr std::string_view kRedactMask = "[masked]";
inline constexpr std::string_view kRedactHashPrefix = "hmac:";  // 32 lower-case hex digits of HMAC-SHA-256 follow

// How many values each action changed or removed, by RedactAction.
using RedactCounts = std::array<uint64_t, kRedactActions>;

enum class RedactOutcome : uint8_t {
  kKept,     // unchanged
  kDropped,  // to be removed
  kChanged,  // is the string in `out` now, whatever its type was
};

struct RedactValue {
  enum class Kind : uint8_t { kEmpty, kText, kBytes, kInt, kDouble, kBool };
  Kind kind = Kind::kEmpty;
  std::string_view text;  // kText (also JSON, as one text), kBytes
  uint64_t bits = 0;      // kInt: two's complement; kDouble: the IEEE bits; kBool

  static RedactValue of_text(std::string_view text) { return {Kind::kText, text, 0}; }
  static RedactValue of_bytes(std::string_view bytes) { return {Kind::kBytes, bytes, 0}; }
  static RedactValue of_int(int64_t value) { return {Kind::kInt, {}, static_cast<uint64_t>(value)}; }
  static RedactValue of_double(double value);
  static RedactValue of_bool(bool value) { return {Kind::kBool, {}, value}; }
};

class Redactor {
 public:
  static constexpr int64_t kRegexMemoryBytes = 512 << 10;

  // `key` is used by hash rules only (has_hash_rule()).
  static Result<std::shared_ptr<const Redactor>> make(std::span<const std::string> rules, const RedactKey& key);
  ~Redactor();

  bool empty() const { return !has_key_rules() && !has_value_rules(); }
  bool has_key_rules() const { return !exact_keys_.empty() || !key_patterns_.empty(); }
  bool has_value_rules() const { return !value_rules_.empty(); }
  // Equal for equal rules with, where they hash, an equal key: 32 hex digits. Says nothing about the key.
  const std::string& fingerprint() const { return fingerprint_; }

  // The action of the first key rule that matches an attribute's key.
  std::optional<RedactAction> key_action(std::string_view key) const;
  // Likewise for a member of a map: a rule matches its own key, or its path PARENTS.KEY. `parents` is the attribute's
  // key and those of the maps around the member, joined by dots; its first 512 bytes count.
  std::optional<RedactAction> member_action(std::string_view parents, std::string_view key) const;
  // What kHash or kMask make of a whole value.
  std::string replaced(RedactAction action, const RedactValue& value) const;

  // Value rules. `room`: `out` need not hold more bytes, because the caller cuts it; it may hold some more. Numbers and
  // booleans are searched as their texts, integral doubles in decimal, too. Bytes and numbers are searched as they are;
  // bytes with a match are replaced as a whole.
  RedactOutcome value(const RedactValue& value, size_t room, std::string& out, RedactCounts& counts) const;
  // Value rules, for what cannot be removed: a name, a message. Instead of being dropped it is masked.
  RedactOutcome text(std::string_view text, size_t room, std::string& out, RedactCounts& counts) const;
  // Key rules, then value rules.
  RedactOutcome attribute(std::string_view key, const RedactValue& value, size_t room, std::string& out,
                          RedactCounts& counts) const;

 private:
  struct ValueRule {
    RedactAction action;
    std::unique_ptr<re2::RE2> regex;
  };
  struct KeyPattern {
    size_t order;
    std::string pattern;
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  class Replacer;

  Redactor() = default;
  Result<> add(std::string_view text, RedactRule rule, size_t order);
  Result<> add_regex(std::string_view text, const RedactRule& rule);
  size_t first_rule(std::string_view key, size_t before) const;
  std::string hash(std::string_view text) const;
  RedactOutcome search(std::string_view text, bool is_whole, size_t room, std::string& out, RedactCounts& counts) const;
  RedactOutcome search_number(double number, std::string& out, RedactCounts& counts) const;

  std::unordered_map<std::string, size_t, TextHash, std::equal_to<>> exact_keys_;  // to the rule's order
  std::vector<KeyPattern> key_patterns_;                                           // by order
  std::vector<RedactAction> actions_;                                              // of all rules, by order
  std::vector<ValueRule> value_rules_;                                             // drop rules first
  size_t drop_rules_ = 0;                                                          // of them
  RedactKey key_;
  std::string fingerprint_;
};

}  // namespace fathom
