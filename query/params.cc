#include "query/params.h"

#include <algorithm>
#include <charconv>

#include "base/time.h"
#include "query/conditions.h"

namespace fathom::query {

void Params::blame(std::string message) {
  if (!fault_) fault_ = invalid(std::move(message));
}

std::vector<std::string> Params::texts(std::string_view key) {
  known_.push_back(key);
  std::vector<std::string> found;
  for (const auto& [name, value] : request_.query) {
    if (name == key && !value.empty()) found.push_back(value);
  }
  return found;
}

std::optional<std::string> Params::text(std::string_view key) {
  auto found = texts(key);
  if (found.size() > 1) blame("'" + std::string(key) + "' may be given once");
  if (found.empty()) return std::nullopt;
  return found.front();
}

bool Params::flag(std::string_view key) {
  auto value = text(key);
  // The bare name, `?errors`: whoever writes it means it.
  if (!value) return request_.param(key).has_value();
  if (*value == "false" || *value == "0") return false;
  if (*value != "true" && *value != "1") blame("'" + std::string(key) + "' must be true or false");
  return true;
}

template <typename Number>
std::optional<Number> Params::number_in(std::string_view key, Number low, Number high) {
  auto value = text(key);
  if (!value) return std::nullopt;
  Number number = 0;
  auto [end, fault] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (fault == std::errc() && end == value->data() + value->size() && number >= low && number <= high) return number;
  blame("'" + std::string(key) + "' must be a number from " + std::to_string(low) + " to " + std::to_string(high));
  return std::nullopt;
}

uint64_t Params::number(std::string_view key, uint64_t low, uint64_t high, uint64_t otherwise) {
  return number_in(key, low, high).value_or(otherwise);
}

std::optional<int64_t> Params::integer(std::string_view key, int64_t low, int64_t high) {
  return number_in(key, low, high);
}

std::optional<uint64_t> Params::duration_nano(std::string_view key) {
  auto value = text(key);
  if (!value) return std::nullopt;
  auto parsed = parse_duration_nano(*value);
  if (parsed) return *parsed;
  blame("'" + std::string(key) + "': " + parsed.error().message);
  return std::nullopt;
}

bool Params::choice(std::string_view key, std::string_view no, std::string_view yes) {
  std::string value = text(key).value_or(std::string(no));
  if (value != no && value != yes) {
    blame("'" + std::string(key) + "' must be " + std::string(no) + " or " + std::string(yes));
  }
  return value == yes;
}

std::optional<uint64_t> Params::instant(std::string_view key) {
  auto value = text(key);
  if (!value) return std::nullopt;
  auto parsed = parse_instant_unix_nano(*value, now_unix_nano_);
  if (parsed) return *parsed;
  blame("'" + std::string(key) + "': " + parsed.error().message);
  return std::nullopt;
}

AskedRange Params::since(const std::string& text) {
  auto back = parse_duration_nano(text);
  if (!back) blame("'since': " + back.error().message);
  uint64_t ago = back ? std::min(*back, now_unix_nano_) : 0;
  return {{now_unix_nano_ - ago, now_unix_nano_}, "since=" + text};
}

AskedRange Params::range() {
  AskedRange asked = read_range();
  ranged_ = asked.range;
  return asked;
}

AskedRange Params::read_range() {
  auto back = text("since");
  auto from = instant("from");
  auto to = instant("to");
  if (!from && !to) return since(back.value_or("1h"));
  if (back) blame("'since' is another way to say 'from' and 'to'; give one or the other");
  AskedRange asked{{from.value_or(0), to.value_or(UINT64_MAX)}, ""};
  if (asked.range.from_unix_nano > asked.range.to_unix_nano) blame("'from' must not be after 'to'");
  asked.text = "from=" + text("from").value_or("") + "&to=" + text("to").value_or("");
  return asked;
}

bool Params::gives_range() const {
  return request_.param("since") || request_.param("from") || request_.param("to");
}

std::vector<store::Condition> Params::conditions(std::string_view key) {
  std::vector<store::Condition> conditions;
  for (const std::string& text : texts(key)) {
    auto condition = parse_condition(text);
    if (!condition) {
      blame("'" + std::string(key) + "': " + condition.error().message);
      continue;
    }
    conditions.push_back(*std::move(condition));
  }
  return conditions;
}

Result<> Params::finish() const {
  for (const auto& [name, value] : request_.query) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    std::vector<std::string_view> known = known_;
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    std::string message = "unknown parameter '" + name + "'; " + request_.path + " takes";
    for (std::string_view key : known) message += (key == known.front() ? " " : ", ") + std::string(key);
    return invalid(message);
  }
  if (fault_) return *fault_;
  return {};
}

}  // namespace fathom::query
