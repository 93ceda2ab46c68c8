#include "query/conditions.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/trim.h"

namespace fathom::query {

namespace {

template <typename Number>
std::optional<Number> whole_text_as(std::string_view text) {
  Number number{};
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string double_text(double value) {
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

std::optional<store::ValueView> number_of(std::string_view text) {
  if (auto integer = whole_text_as<int64_t>(text)) return store::ValueView::of_int(*integer);
  const auto real = whole_text_as<double>(text);
  return real && !std::isnan(*real) ? std::optional(store::ValueView::of_double(*real)) : std::nullopt;
}

constexpr std::string_view kGrammar =
    "a condition is KEY=VALUE, KEY!=VALUE, KEY>N, KEY>=N, KEY<N, KEY<=N, KEY (has it) or !KEY (lacks it), such as "
    "http.route=/cart; in double quotes KEY and VALUE may hold anything: \"a=b\"=\"x y\"";

Error not_understood(const std::string& why) {
  return invalid(why + ": " + std::string(kGrammar));
}

// Takes "..." from the front of `text`.
Result<std::string> take_quoted(std::string_view& text) {
  std::string out;
  for (size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '"') {
      text = trimmed(text.substr(at + 1));
      return out;
    }
    if (text[at] == '\\' && ++at < text.size() && text[at] != '"' && text[at] != '\\') {
      return not_understood("in double quotes a \\ is written \\\\, and a \" as \\\"");
    }
    if (at < text.size()) out.push_back(text[at]);
  }
  return not_understood("a double quote is not closed");
}

Result<std::string> take_key(std::string_view& text) {
  if (text.starts_with('"')) return take_quoted(text);
  const size_t end = std::min(text.find_first_of("=!<>"), text.size());
  const std::string_view key = trimmed(text.substr(0, end));
  if (key.find_first_of(" \t\r\n~\"") != key.npos) {
    return not_understood("'" + std::string(key) + "' is no key unless it is in double quotes");
  }
  text.remove_prefix(end);
  return std::string(key);
}

std::optional<store::Compare> take_operator(std::string_view& text) {
  using store::Compare;
  for (Compare compare :
       {Compare::kNotEqual, Compare::kAtLeast, Compare::kAtMost, Compare::kEqual, Compare::kGreater, Compare::kLess}) {
    const std::string_view sign = store::compare_text(compare);
    if (!text.starts_with(sign)) continue;
    text = trimmed(text.substr(sign.size()));
    return compare;
  }
  return std::nullopt;
}

Result<std::string> value_of(std::string_view text) {
  if (text.starts_with('"')) {
    auto value = take_quoted(text);
    if (value && !text.empty()) return not_understood("something follows the closing double quote");
    return value;
  }
  const bool odd = !text.empty() && std::string_view("=~<>").find(text.front()) != text.npos;
  if (odd || text.find("&&") != text.npos || text.find("||") != text.npos) {
    return not_understood("'" + std::string(text) + "' is no value unless it is in double quotes");
  }
  return std::string(text);
}

}  // namespace

std::vector<std::string> other_number_texts(std::string_view text) {
  auto value = looks_like_number(text) ? whole_text_as<double>(text) : std::nullopt;
  if (!value) return {};
  auto integer = integer_of(*value);
  auto spelled = whole_text_as<int64_t>(text);
  if (spelled && spelled != integer) return {};
  std::vector<std::string> texts{double_text(*value)};
  if (std::isnan(*value)) texts.push_back(double_text(-*value));
  if (integer) texts.push_back(std::to_string(*integer));
  std::erase(texts, text);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

Result<store::Condition> condition_of(std::string key, std::string value, store::Compare compare) {
  using store::Compare;
  if (key.empty()) return not_understood("the key is missing");
  store::Condition condition{std::move(key), std::move(value)};
  condition.compare = compare;
  if (compare == Compare::kEqual || compare == Compare::kNotEqual) {
    for (std::string& text : other_number_texts(condition.value)) {
      condition.alternatives.emplace_back(condition.key, std::move(text));
    }
  } else if (condition.is_range()) {
    const auto bound = number_of(condition.value);
    if (!bound) {
      return not_understood(std::string(store::compare_text(compare)) + " takes a number, and '" + condition.value +
                            "' is none");
    }
    condition.bound = *bound;
  } else if (!condition.value.empty()) {
    return not_understood("there is no value to having a key, or lacking it");
  }
  return condition;
}

Result<store::Condition> parse_condition(std::string_view text) {
  using store::Compare;
  text = trimmed(text);
  const bool lacks = text.starts_with('!');
  if (lacks) text = trimmed(text.substr(1));
  auto key = take_key(text);
  if (!key) return key.error();
  if (text.empty()) return condition_of(*std::move(key), "", lacks ? Compare::kLacks : Compare::kExists);
  if (lacks) return not_understood("!KEY takes no value");
  const auto compare = take_operator(text);
  if (!compare) return not_understood("'" + std::string(text) + "' is not understood");
  auto value = value_of(text);
  if (!value) return value.error();
  return condition_of(*std::move(key), *std::move(value), *compare);
}

}  // namespace fathom::query
