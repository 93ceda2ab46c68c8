// Ranges, against numbers of two parts, whole and fraction, neither of which is rounded.
#include "store/condition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace fathom::store {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// By its whole part and its fraction, neither of which is rounded.
struct Exact {
  __int128 whole = 0;
  double fraction = 0;
  auto operator<=>(const Exact&) const = default;
};

Exact exact(const ValueView& value) {
  if (value.type == ValueType::kInt) return {value.as_int(), 0};
  const double real = std::clamp(value.as_double(), -0x1p100, 0x1p100);  // beyond all integers
  const double whole = std::floor(real);
  return {static_cast<__int128>(whole), real - whole};
}

std::vector<ValueView> numbers(std::mt19937_64& random) {
  std::vector<ValueView> values;
  for (double real : {0.0, -0.0, 0.5, -0.5, 0x1p53, 0x1p53 + 2, 0x1p62, 0x1p63, -0x1p63, 0x1p64, 1e99, -1e99, 5e-324,
                      kInfinity, -kInfinity}) {
    values.push_back(ValueView::of_double(real));
  }
  for (int64_t integer : {int64_t{0}, int64_t{1}, int64_t{-1}, INT64_MAX, INT64_MIN, INT64_MAX - 1, (int64_t{1} << 53),
                          (int64_t{1} << 53) + 1, (int64_t{1} << 62) + 1}) {
    values.push_back(ValueView::of_int(integer));
  }
  for (int i = 0; i < 60; ++i) {
    const auto integer = static_cast<int64_t>(random()) >> random() % 64;
    values.push_back(ValueView::of_int(integer));
    values.push_back(ValueView::of_double(static_cast<double>(integer)));
    values.push_back(ValueView::of_double(std::nextafter(static_cast<double>(integer), random() % 2 ? 1e30 : -1e30)));
  }
  return values;
}

bool in_range(const ValueView& value, Compare compare, const ValueView& bound) {
  Condition condition{"k", ""};
  condition.compare = compare;
  condition.bound = bound;
  return condition.in_range(value);
}

TEST(Condition, NumbersOfBothTypesAreComparedExactly) {
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  const std::vector<ValueView> values = numbers(random);
  for (const ValueView& value : values) {
    for (const ValueView& bound : values) {
      // Infinities are as large as one another here, and larger than what is clamped beside them.
      const auto order = value.type == ValueType::kDouble && bound.type == ValueType::kDouble
                             ? value.as_double() <=> bound.as_double()
                             : std::partial_ordering(exact(value) <=> exact(bound));
      const std::string text = value_text(value) + " and " + value_text(bound) + ", seed " + std::to_string(seed);
      EXPECT_EQ(in_range(value, Compare::kGreater, bound), order > 0) << text;
      EXPECT_EQ(in_range(value, Compare::kAtLeast, bound), order >= 0) << text;
      EXPECT_EQ(in_range(value, Compare::kLess, bound), order < 0) << text;
      EXPECT_EQ(in_range(value, Compare::kAtMost, bound), order <= 0) << text;
    }
  }
}

TEST(Condition, WhatIsNoNumberLiesInNoRange) {
  for (const ValueView& value :
       {ValueView::of_string("5"), ValueView::of_bool(true), ValueView::of_double(kNan), ValueView(),
        ValueView{ValueType::kJson, "[5]", 0}, ValueView{ValueType::kCut, "5", 0}}) {
    for (Compare compare : {Compare::kGreater, Compare::kAtLeast, Compare::kLess, Compare::kAtMost}) {
      EXPECT_FALSE(in_range(value, compare, ValueView::of_int(0)));
      EXPECT_FALSE(in_range(value, compare, ValueView::of_double(-kInfinity)));
    }
  }
  EXPECT_FALSE(in_range(ValueView::of_int(0), Compare::kLess, ValueView::of_double(kNan)));
}

TEST(Condition, EitherTheSpanOrItsResourceAnswers) {
  const std::vector<AttributeView> own{{"k", ValueView::of_string("a")}, {"n", ValueView::of_int(5)}};
  const std::vector<AttributeView> resource{{"k", ValueView::of_string("b")}, {"m", ValueView::of_int(7)}};
  const auto holds_for = [&](std::string key, Compare compare, std::string value, int64_t bound = 0) {
    return holds({std::move(key), std::move(value), {}, compare, ValueView::of_int(bound)}, own, resource);
  };
  EXPECT_TRUE(holds_for("k", Compare::kEqual, "a"));
  EXPECT_TRUE(holds_for("k", Compare::kEqual, "b"));
  EXPECT_FALSE(holds_for("k", Compare::kNotEqual, "a"));
  EXPECT_FALSE(holds_for("k", Compare::kNotEqual, "b"));
  EXPECT_TRUE(holds_for("k", Compare::kNotEqual, "c"));
  EXPECT_FALSE(holds_for("none", Compare::kNotEqual, "c")) << "it has to be there";
  EXPECT_TRUE(holds_for("m", Compare::kGreater, "", 6));
  EXPECT_FALSE(holds_for("m", Compare::kGreater, "", 7));
  EXPECT_TRUE(holds_for("m", Compare::kExists, ""));
  EXPECT_FALSE(holds_for("m", Compare::kLacks, ""));
  EXPECT_TRUE(holds_for("none", Compare::kLacks, ""));
}

}  // namespace
}  // namespace fathom::store
