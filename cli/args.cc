#include "cli/args.h"

#include <algorithm>
#include <charconv>

#include "base/ids.h"
#include "base/in_flag.h"
#include "base/time.h"
#include "cli/sizes.h"
#include "cli/suggest.h"
#include "cli/text.h"
#include "net/http_server.h"

namespace fathom::cli {

namespace {

constexpr std::string_view kOff = "no";  // the only value that is kept of a switch

const Flag* find_flag(const CommandLine& line, std::string_view name) {
  auto found = std::find_if(line.flags.begin(), line.flags.end(), [&](const Flag& flag) { return flag.name == name; });
  return found == line.flags.end() ? nullptr : &*found;
}

std::string see_help(const CommandLine& line) {
  return "; see " + line.name + " --help";
}

Error unknown_flag(const CommandLine& line, std::string_view name) {
  std::vector<std::string> known{"--help"};
  for (const Flag& flag : line.flags) known.push_back(flag.name);
  return invalid("unknown flag " + printable(name) + did_you_mean(name, known) + see_help(line));
}

}  // namespace

class ArgsParser {
 public:
  ArgsParser(const CommandLine& line, const std::vector<std::string>& words) : line_(line), words_(words) {
    args_.line_ = &line;
  }

  Result<Args> parse() {
    std::optional<Error> fault;
    for (at_ = 0; at_ < words_.size(); ++at_) {
      Result<> taken = take(words_[at_]);
      if (!taken && !fault) fault = taken.error();
    }
    // Whoever asks for help may well have the rest wrong.
    if (args_.help_) return std::move(args_);
    if (fault) return *fault;
    if (args_.positionals_.size() + (last_repeats() ? 1 : 0) < line_.positionals.size()) {
      return invalid("missing " + line_.positionals[args_.positionals_.size()].name + taken_by() + see_help(line_));
    }
    return std::move(args_);
  }

 private:
  Result<> take(const std::string& word) {
    if (flags_ended_ || word.size() < 2 || word.front() != '-') return take_positional(word);
    if (word == "--") {
      flags_ended_ = true;
      return {};
    }
    if (word == "--help" || word == "-h") {
      args_.help_ = true;
      return {};
    }
    return take_flag(word);
  }

  Result<> take_positional(const std::string& word) {
    if (args_.positionals_.size() >= line_.positionals.size() && !last_repeats()) {
      bool may_be_trace = find_flag(line_, "--trace") != nullptr && TraceId::from_hex_text(word);
      return invalid("unexpected argument '" + printable(word) + "'" +
                     (may_be_trace ? " (did you mean --trace " + word + "?)" : "") + see_help(line_));
    }
    args_.positionals_.push_back(word);
    return {};
  }

  // A flag whose value was left out took the id that stood behind it.
  std::string taken_by() const {
    for (const auto& [flag, values] : args_.values_) {
      bool took = !values.empty() && TraceId::from_hex_text(values.back());
      if (took) return " (" + flag + " has taken " + values.back() + " for its value)";
    }
    return "";
  }

  bool last_repeats() const { return !line_.positionals.empty() && line_.positionals.back().repeatable; }

  Result<> take_flag(const std::string& word) {
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    const Flag* flag = find_flag(line_, name);
    if (flag == nullptr) return unknown_flag(line_, name);
    if (args_.values_.contains(name) && !flag->repeatable) return invalid(name + " is given twice");
    bool has_value = equals != std::string::npos;
    if (flag->value.empty()) return has_value ? set_switch(name, word.substr(equals + 1)) : switch_on(name);
    if (!has_value && !next_is_value()) return missing_value(*flag);
    args_.values_[name].push_back(has_value ? word.substr(equals + 1) : words_[++at_]);
    return {};
  }

  Result<> switch_on(const std::string& name) {
    args_.values_[name];
    return {};
  }

  // A file may have switched it on, which must be possible to undo.
  Result<> set_switch(const std::string& name, const std::string& value) {
    if (find_flag(line_, "--config") == nullptr) return invalid(name + " takes no value");
    if (value == "yes") return switch_on(name);
    if (value != kOff) return invalid(name + ": '" + printable(value) + "' is neither yes nor no");
    args_.values_[name] = {value};
    return {};
  }

  bool next_is_value() const { return at_ + 1 < words_.size() && !words_[at_ + 1].starts_with("--"); }

  Error missing_value(const Flag& flag) const {
    return invalid(flag.name + " needs a value: " + flag.name + " " + flag.value + " (or " + flag.name + "=" +
                   flag.value + ", if it begins with --)");
  }

  const CommandLine& line_;
  const std::vector<std::string>& words_;
  size_t at_ = 0;
  bool flags_ended_ = false;
  Args args_;
};

Result<Args> parse_args(const CommandLine& line, const std::vector<std::string>& words) {
  return ArgsParser(line, words).parse();
}

bool Args::has(std::string_view flag) const {
  auto found = values_.find(flag);
  if (found == values_.end()) return false;
  const Flag* known = find_flag(*line_, flag);
  const bool is_switch = known != nullptr && known->value.empty();
  return !is_switch || found->second.empty();
}

Args Args::over(const Args& below) const {
  Args both = *this;
  both.values_.insert(below.values_.begin(), below.values_.end());
  return both;
}

std::vector<std::string> Args::positionals_from(size_t index) const {
  if (index >= positionals_.size()) return {};
  return {positionals_.begin() + static_cast<std::ptrdiff_t>(index), positionals_.end()};
}

std::string Args::get(std::string_view flag) const {
  if (auto value = given(flag)) return *value;
  const Flag* known = find_flag(*line_, flag);
  assert(known != nullptr);
  return known->fallback;
}

std::optional<std::string> Args::given(std::string_view flag) const {
  auto found = values_.find(flag);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Args::all(std::string_view flag) const {
  auto found = values_.find(flag);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

Result<uint64_t> Args::duration_nano(std::string_view flag) const {
  Result<uint64_t> parsed = parse_duration_nano(get(flag));
  if (!parsed) return in_flag(flag, parsed.error());
  return parsed;
}

Result<uint64_t> Args::number(std::string_view flag, uint64_t least, uint64_t most) const {
  std::string text = get(flag);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && value >= least && value <= most) return value;
  const std::string range = most == UINT64_MAX ? ", " + std::to_string(least) + " or more"
                                               : " from " + std::to_string(least) + " to " + std::to_string(most);
  return invalid(std::string(flag) + ": '" + printable(text) + "' is not a whole number" + range);
}

Result<uint64_t> Args::size_bytes(std::string_view flag) const {
  Result<uint64_t> parsed = parse_size_bytes(get(flag));
  if (!parsed) return in_flag(flag, parsed.error());
  return parsed;
}

Result<std::string> Args::address(std::string_view flag) const {
  std::string text = get(flag);
  auto split = net::split_address(text);
  if (split) return text;
  const bool may_be_v6 = std::count(text.begin(), text.end(), ':') > 1 && text.find('/') == std::string::npos;
  const std::string example = may_be_v6 ? "[::1]:7070 (an IPv6 address stands in brackets)" : "127.0.0.1:7070";
  return invalid(std::string(flag) + ": '" + printable(text) + "' is not HOST:PORT, like " + example);
}

Result<std::string> Args::one_of(std::string_view flag, const std::vector<std::string>& choices) const {
  std::string value = get(flag);
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return value;
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "" : ", ") + choice;
  return invalid(std::string(flag) + ": '" + printable(value) + "' is none of " + list + did_you_mean(value, choices));
}

}  // namespace fathom::cli
