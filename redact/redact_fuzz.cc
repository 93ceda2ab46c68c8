// Any rules on any attribute: rules are rejected with a message, or applied; output has its bound,
// names are never dropped. Rules are the input's lines before an empty one; the rest is KEY=TEXT.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "redact/redactor.h"

namespace {

using fathom::RedactCounts;
using fathom::Redactor;
using fathom::RedactOutcome;
using fathom::RedactValue;

constexpr size_t kRoom = 4096;
constexpr size_t kLongestReplacement = 64;

std::vector<std::string> take_rules(std::string_view& input) {
  std::vector<std::string> rules;
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    if (line.empty()) break;
    rules.emplace_back(line);
  }
  return rules;
}

void check(bool holds) {
  if (!holds) std::abort();
}

void check_values(const Redactor& redactor, std::string_view key, std::string_view text) {
  std::string out;
  RedactCounts counts{};
  check(redactor.text(text, kRoom, out, counts) != RedactOutcome::kDropped);
  check(out.size() <= kRoom + kLongestReplacement);
  const RedactOutcome outcome = redactor.attribute(key, RedactValue::of_text(text), kRoom, out, counts);
  if (redactor.key_action(key)) check(outcome != RedactOutcome::kKept);
  redactor.attribute(key, RedactValue::of_bytes(text), kRoom, out, counts);
  redactor.attribute(key, RedactValue::of_int(static_cast<int64_t>(text.size()) * 1234567), kRoom, out, counts);
  redactor.attribute(key, RedactValue::of_double(static_cast<double>(text.size()) * 1e14), kRoom, out, counts);
  redactor.member_action(text, key);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> rules = take_rules(input);
  const auto redactor = Redactor::make(rules, {});
  if (!redactor.ok()) {
    check(!redactor.error().message.empty());
    return 0;
  }
  const std::string_view key = input.substr(0, input.find('='));
  check_values(**redactor, key, input.substr(std::min(key.size() + 1, input.size())));
  return 0;
}
