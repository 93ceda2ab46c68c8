#include "store/condition.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fathom::store {

namespace {

constexpr std::array<std::string_view, 8> kTexts{"=", "!=", ">", ">=", "<", "<=", "", "!"};
static_assert(kTexts.size() == static_cast<size_t>(Compare::kLacks) + 1);

// A double that is beyond all integers is; else its whole part is one, and its fraction decides between equals.
std::partial_ordering order_of(int64_t integer, double real) {
  constexpr double kBeyond = 9223372036854775808.0;
  if (std::isnan(real)) return std::partial_ordering::unordered;
  if (real >= kBeyond) return std::partial_ordering::less;
  if (real < -kBeyond) return std::partial_ordering::greater;
  const double whole = std::trunc(real);
  const auto order = integer <=> static_cast<int64_t>(whole);
  return std::is_neq(order) ? std::partial_ordering(order) : whole <=> real;
}

std::partial_ordering reversed(std::partial_ordering order) {
  if (std::is_lt(order)) return std::partial_ordering::greater;
  return std::is_gt(order) ? std::partial_ordering::less : order;
}

bool has_text(const ValueView& value, std::string_view text) {
  if (value.type == ValueType::kString) return value.text == text;
  return value_text(value) == text;
}

bool is_meant(const Condition& condition, const AttributeView& attribute) {
  if (condition.is_range()) return attribute.key == condition.key && condition.in_range(attribute.value);
  return condition.any_of([&](const std::string& key, const std::string& value) {
    return attribute.key == key && has_text(attribute.value, value);
  });
}

}  // namespace

std::partial_ordering order_of(const ValueView& a, const ValueView& b) {
  const bool a_whole = a.type == ValueType::kInt, b_whole = b.type == ValueType::kInt;
  if ((!a_whole && a.type != ValueType::kDouble) || (!b_whole && b.type != ValueType::kDouble)) {
    return std::partial_ordering::unordered;
  }
  if (a_whole && b_whole) return a.as_int() <=> b.as_int();
  if (a_whole) return order_of(a.as_int(), b.as_double());
  if (b_whole) return reversed(order_of(b.as_int(), a.as_double()));
  return a.as_double() <=> b.as_double();
}

bool Condition::in_range(const ValueView& number) const {
  const std::partial_ordering order = order_of(number, bound);
  switch (compare) {
    case Compare::kGreater:
      return std::is_gt(order);
    case Compare::kAtLeast:
      return std::is_gteq(order);
    case Compare::kLess:
      return std::is_lt(order);
    case Compare::kAtMost:
      return std::is_lteq(order);
    default:
      return false;
  }
}

bool holds(const Condition& condition, std::span<const AttributeView> own, std::span<const AttributeView> resource) {
  const auto any = [&](auto test) { return std::ranges::any_of(own, test) || std::ranges::any_of(resource, test); };
  const auto has_key = [&](const AttributeView& attribute) { return attribute.key == condition.key; };
  const auto meant = [&](const AttributeView& attribute) { return is_meant(condition, attribute); };
  switch (condition.compare) {
    case Compare::kExists:
      return any(has_key);
    case Compare::kLacks:
      return !any(has_key);
    case Compare::kNotEqual:
      return any(has_key) && !any(meant);
    default:
      return any(meant);
  }
}

std::string_view compare_text(Compare compare) {
  return kTexts[static_cast<size_t>(compare)];
}

}  // namespace fathom::store
