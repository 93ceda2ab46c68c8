#include "cli/config_line.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/trim.h"

namespace fathom::cli {

namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view without_first(std::string_view text, std::string_view word) {
  return text.starts_with(word) ? trimmed(text.substr(word.size()), kBlanks) : text;
}

}  // namespace

std::string_view unquoted(std::string_view value) {
  const bool quoted = value.size() >= 2 && value.front() == value.back() && (value[0] == '"' || value[0] == '\'');
  return quoted ? value.substr(1, value.size() - 2) : value;
}

MeantLine meant_by(std::string_view line) {
  line = without_first(without_first(line, "export "), "- ");
  while (line.ends_with(',') || line.ends_with(';')) line = trimmed(line.substr(0, line.size() - 1), kBlanks);
  const size_t end = std::min(line.find_first_of(": =\t"), line.size());
  const std::string_view key = trimmed(line.substr(0, end), "\"'");
  return {std::string(key), std::string(unquoted(trimmed(line.substr(end), ":= \t")))};
}

bool is_section(std::string_view line) {
  return line.starts_with('[') && line.ends_with(']');
}

std::string_view other_comment(std::string_view line) {
  for (const std::string_view mark : {";", "//"}) {
    if (line.starts_with(mark)) return trimmed(line, ";/ \t");
  }
  return {};
}

std::string switch_word(std::string_view word) {
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::array<std::string_view, 4> kYes = {"yes", "true", "on", "1"};
  constexpr std::array<std::string_view, 4> kNo = {"no", "false", "off", "0"};
  if (std::ranges::find(kYes, lower) != kYes.end()) return "yes";
  return std::ranges::find(kNo, lower) != kNo.end() ? "no" : std::string(word);
}

}  // namespace fathom::cli
