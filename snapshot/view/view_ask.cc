#include "snapshot/view/view_ask.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace fathom::snapshot {

namespace {

struct VerbName {
  std::string_view name;
  ViewVerb verb;
};
constexpr std::array kVerbs{VerbName{"threads", ViewVerb::kThreads}, VerbName{"calls", ViewVerb::kCalls},
                            VerbName{"insns", ViewVerb::kInsns},     VerbName{"stack", ViewVerb::kStack},
                            VerbName{"find", ViewVerb::kFind},       VerbName{"source", ViewVerb::kSource}};

std::string_view take_word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

template <typename Number>
std::optional<Number> number(std::string_view text, Number low, Number high) {
  Number value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value < low || value > high) return std::nullopt;
  return value;
}

bool take(std::string_view text, uint64_t low, uint64_t high, uint64_t& place) {
  const auto value = number<uint64_t>(text, low, high);
  if (value) place = *value;
  return value.has_value();
}

bool take_offset(std::string_view text, std::optional<int64_t>& place) {
  place = number<int64_t>(text, -ViewAsk::kMostOffset, ViewAsk::kMostOffset);
  return place.has_value();
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

bool take_text(std::string_view hex, std::string& place) {
  if (hex.empty() || hex.size() % 2 != 0 || hex.size() > 2 * ViewAsk::kMostTextBytes) return false;
  place.clear();
  for (size_t i = 0; i < hex.size(); i += 2) {
    const auto high = hex_digit(hex[i]), low = hex_digit(hex[i + 1]);
    if (!high || !low) return false;
    place.push_back(static_cast<char>(*high << 4 | *low));
  }
  return true;
}

bool take_axis(std::string_view text, ViewAxis& axis) {
  axis = text == "rows" ? ViewAxis::kRows : ViewAxis::kTime;
  return text == "rows" || text == "time";
}

bool take_member(std::string_view key, std::string_view value, ViewAsk& ask) {
  if (key == "thread") return take(value, 0, UINT32_MAX, ask.thread);
  if (key == "axis") return take_axis(value, ask.axis);
  if (key == "from") return take_offset(value, ask.from);
  if (key == "to") return take_offset(value, ask.to);
  if (key == "at") return take_offset(value, ask.at);
  if (key == "columns") return take(value, 1, ViewAsk::kMostColumns, ask.columns);
  if (key == "first_depth") return take(value, 0, UINT32_MAX, ask.first_depth);
  if (key == "depths") return take(value, 1, ViewAsk::kMostDepths, ask.depths);
  if (key == "row") return take(value, 0, UINT32_MAX, ask.row);
  if (key == "count") return take(value, 1, ViewAsk::kMostRows, ask.count);
  if (key == "depth") return take(value, 0, UINT32_MAX, ask.depth.emplace());
  if (key == "function") return take_text(value, ask.function);
  if (key == "text") return take_text(value, ask.text);
  if (key == "backwards") return ask.backwards = value == "true";
  return false;
}

}  // namespace

Result<ViewAsk> parse_view_ask(std::string_view line) {
  const std::string_view name = take_word(line);
  const auto* verb = std::ranges::find(kVerbs, name, &VerbName::name);
  if (verb == kVerbs.end()) return invalid("this asks for none of threads, calls, insns, stack, find, source");
  ViewAsk ask;
  ask.verb = verb->verb;
  while (!line.empty()) {
    const std::string_view word = take_word(line);
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    if (equals == std::string_view::npos || !take_member(key, word.substr(equals + 1), ask)) {
      return invalid("'" + std::string(key.substr(0, 40)) +
                     "' is none of its words, or has a value that it cannot have");
    }
  }
  if (ask.verb == ViewVerb::kFind && ask.function.empty() == ask.text.empty()) {
    return invalid("find wants 'function' or 'text', and one of them: part of a function's name, or of an instruction");
  }
  if (ask.verb == ViewVerb::kSource && ask.text.empty()) return invalid("source wants 'text': the name of a file");
  return ask;
}

}  // namespace fathom::snapshot
