// Condition: one question of `where` to a span's attributes and its resource's.
//
// Thread safety: plain values. Ownership: a condition owns its texts. Definitions: an attribute of the key `has` a text
// when its value_text() is that; only integers and doubles lie in a range, and they are compared as the numbers that
// they are, never rounded to each other's type; NaN lies in none. Of a key that both the span and its resource have,
// either value may answer, and neither may where a condition says what is not to be.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/span.h"

namespace fathom::store {

enum class Compare : uint8_t {
  kEqual,     // has the key with this value
  kNotEqual,  // has the key, and never with this value
  kGreater,
  kAtLeast,
  kLess,
  kAtMost,
  kExists,  // has the key
  kLacks,
};

// Holds where an attribute `key` has `value`, or any of `alternatives` (key, value) is there: one question of a
// person's may be spelled in several ways. Or as `compare` says.
struct Condition {
  std::string key;
  std::string value;
  std::vector<std::pair<std::string, std::string>> alternatives = {};
  Compare compare = Compare::kEqual;
  ValueView bound = {};  // of a range: an integer or a double

  // True when `test(key, value)` is, for the condition's own pair or an alternative.
  template <typename Test>
  bool any_of(Test test) const {
    if (test(key, value)) return true;
    for (const auto& [other_key, other_value] : alternatives) {
      if (test(other_key, other_value)) return true;
    }
    return false;
  }

  bool is_range() const { return compare >= Compare::kGreater && compare <= Compare::kAtMost; }
  // Whether a value lies in the range that this condition is.
  bool in_range(const ValueView& value) const;
};

// Of numbers, by what they are worth; unordered where one is no number.
std::partial_ordering order_of(const ValueView& a, const ValueView& b);

bool holds(const Condition& condition, std::span<const AttributeView> own, std::span<const AttributeView> resource);

// "=", "!=", ...; of kExists "", of kLacks "!".
std::string_view compare_text(Compare compare);

}  // namespace fathom::store
