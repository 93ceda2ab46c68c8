#include "query/conditions.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace fathom::query {

namespace {

template <typename Number>
std::optional<Number> whole_text_as(std::string_view text) {
  Number number{};
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string text_of(double value) {
  return value_text(store::ValueView::of_double(value));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "007" is a name, not a number; so is "nan(1)".
bool looks_like_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  bool padded = text.size() > 1 && text[0] == '0' && is_digit(text[1]);
  return !padded && text.find('(') == std::string_view::npos;
}

// The integer that `value` is, where 64 bits hold it.
std::optional<int64_t> integer_of(double value) {
  constexpr double kBeyond = 9223372036854775808.0;
  if (!(value >= -kBeyond && value < kBeyond) || value != std::trunc(value)) return std::nullopt;
  return static_cast<int64_t>(value);
}

void add_alternatives(store::Condition& condition, const std::string& key, const std::string& value) {
  for (std::string& text : other_number_texts(value)) condition.alternatives.emplace_back(key, std::move(text));
}

}  // namespace

std::vector<std::string> other_number_texts(std::string_view text) {
  auto value = looks_like_number(text) ? whole_text_as<double>(text) : std::nullopt;
  if (!value) return {};
  auto integer = integer_of(*value);
  auto spelled = whole_text_as<int64_t>(text);
  if (spelled && spelled != integer) return {};
  std::vector<std::string> texts{text_of(*value)};
  if (std::isnan(*value)) texts.push_back(text_of(-*value));
  if (integer) texts.push_back(std::to_string(*integer));
  std::erase(texts, text);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

Result<store::Condition> condition_of(std::string key, std::string value) {
  if (key.empty()) return invalid("a condition needs a key");
  store::Condition condition{std::move(key), std::move(value)};
  add_alternatives(condition, condition.key, condition.value);
  return condition;
}

Result<store::Condition> parse_condition(std::string_view text) {
  size_t end = text.find('=', 1);
  if (end == std::string_view::npos) return invalid("must be KEY=VALUE, such as http.route=/cart");
  auto condition = condition_of(std::string(text.substr(0, end)), std::string(text.substr(end + 1)));
  for (size_t ends = 1; condition && ends < kKeyEnds; ++ends) {
    end = text.find('=', end + 1);
    if (end == std::string_view::npos) break;
    const auto& [key, value] = condition->alternatives.emplace_back(text.substr(0, end), text.substr(end + 1));
    add_alternatives(*condition, std::string(key), std::string(value));
  }
  return condition;
}

}  // namespace fathom::query
