#include "cli/config_file.h"

#include <algorithm>

#include "base/small_file.h"
#include "base/trim.h"
#include "cli/agent_program_flags.h"
#include "cli/config_line.h"
#include "cli/help.h"
#include "cli/server_flags.h"
#include "cli/suggest.h"
#include "cli/text.h"

namespace fathom::cli {

namespace {

constexpr size_t kConfigColumns = 100;
constexpr std::string_view kDashes = "--";
constexpr std::string_view kLineBlanks = " \t\r";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view without_comment(std::string_view line) {
  for (size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || kLineBlanks.find(line[at - 1]) != std::string_view::npos) return line.substr(0, at);
  }
  return line;
}

std::string key_of(const Flag& flag) {
  return flag.name.substr(kDashes.size());
}

// The program that has this key; it is asked for when the one that reads has not.
std::string owner_of(const std::string& key) {
  const auto has = [&](const std::vector<Flag>& flags) {
    return std::any_of(flags.begin(), flags.end(), [&](const Flag& flag) { return key_of(flag) == key; });
  };
  if (has(agent_program_flags())) return "fathom-agent";
  return has(server_flags()) || has(place_flags()) ? "fathom-server" : "";
}

class ConfigParser {
 public:
  ConfigParser(const CommandLine& line, const std::string& path) : line_(line) { file_.path = path; }

  Result<ConfigFile> parse(std::string_view text) {
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    while (!text.empty()) {
      ++number_;
      const size_t end = text.find('\n');
      Result<> taken = take(trimmed(without_comment(text.substr(0, end))));
      if (!taken) return taken.error();
      text = end == std::string_view::npos ? "" : text.substr(end + 1);
    }
    Result<Args> args = parse_args(line_, words_);
    if (!args) return invalid(file_.path + ": " + args.error().message);
    file_.args = *std::move(args);
    return std::move(file_);
  }

 private:
  Result<> take(std::string_view line) {
    if (line.empty()) return {};
    const size_t equals = line.find('=');
    const std::string key(trimmed(line.substr(0, equals)));
    if (equals == 0) return fault("there is no key before the '='; a line is KEY = VALUE");
    const Flag* flag = find(key);
    if (flag == nullptr) return of_another_format(line);
    if (equals == std::string_view::npos) return fault("'" + key + "' has no value; " + write(*flag, ""));
    return take_value(*flag, std::string(trimmed(line.substr(equals + 1))));
  }

  Result<> take_value(const Flag& flag, const std::string& value) {
    auto [known, is_new] = file_.lines.emplace(flag.name, number_);
    if (!is_new && !flag.repeatable) {
      return fault("'" + key_of(flag) + "' is given twice; line " + std::to_string(known->second) + " has it, too");
    }
    if (unquoted(value) != value) return fault("values have no quotes; " + write(flag, unquoted(value)));
    const bool is_switch = flag.value.empty();
    if (is_switch && value != "yes" && value != "no") {
      const std::string meant = switch_word(value);
      const std::string cure = meant == value ? "" : "; " + write(flag, meant);
      return fault("'" + key_of(flag) + "' takes yes or no, not '" + printable(value) + "'" + cure);
    }
    if (flag.repeatable && is_section(value)) {
      return fault("lists are written a line each: " + key_of(flag) + " = " + flag.value);
    }
    words_.push_back(flag.name + "=" + value);
    return {};
  }

  const Flag* find(const std::string& key) const {
    auto found = std::find_if(line_.flags.begin(), line_.flags.end(),
                              [&](const Flag& flag) { return !flag.only_typed && key_of(flag) == key; });
    return found == line_.flags.end() ? nullptr : &*found;
  }

  // Lines that YAML, TOML, JSON or a shell would take.
  Error of_another_format(std::string_view line) const {
    const std::string shown = "'" + printable(line) + "'";
    if (is_section(line)) return fault("there are no sections; leave " + shown + " out, its keys stand alone");
    const std::string_view comment = other_comment(line);
    if (!comment.empty()) return fault("a comment begins with '#'; write # " + printable(comment));
    const MeantLine meant = meant_by(line);
    const Flag* flag = find(meant.key);
    if (flag == nullptr) return unknown(meant.key);
    return fault(shown + " is no line of this file; " + write(*flag, meant.value));
  }

  // "write data = /x"
  static std::string write(const Flag& flag, std::string_view value) {
    const std::string meant = flag.value.empty() ? switch_word(value) : printable(value);
    return "write " + key_of(flag) + " = " + (meant.empty() ? sample(flag) : meant);
  }

  Error unknown(const std::string& key) const {
    if (key.starts_with(kDashes)) return fault("keys are written without '--': " + printable(key.substr(2)));
    std::vector<std::string> keys;
    for (const Flag& flag : line_.flags) {
      if (flag.only_typed && key_of(flag) == key) return fault("'" + key + "' is of the command line only");
      if (!flag.only_typed) keys.push_back(key_of(flag));
    }
    const std::string owner = owner_of(key);
    if (!owner.empty()) return fault("'" + key + "' is a key of " + owner + ", whose configuration is another file");
    return fault("unknown key '" + printable(key) + "'" + did_you_mean(key, keys) + "; '" + line_.name +
                 " --print-config' shows all");
  }

  static std::string sample(const Flag& flag) {
    if (flag.value.empty()) return "yes";
    return flag.fallback.empty() ? flag.value : flag.fallback;
  }

  Error fault(const std::string& says) const {
    return invalid(file_.path + ":" + std::to_string(number_) + ": " + says);
  }

  const CommandLine& line_;
  ConfigFile file_;
  std::vector<std::string> words_;
  size_t number_ = 0;
};

std::string commented(const std::string& text) {
  return "# " + wrap(text, kConfigColumns - 2, 0) + "\n";
}

// wrap() indents with blanks; here each line begins anew.
std::string comment(const std::string& text) {
  std::string out;
  for (char byte : commented(text)) {
    out += byte;
    if (byte == '\n') out += "# ";
  }
  out.resize(out.size() - 2);
  return out;
}

std::string entry(const Flag& flag) {
  const std::string more = flag.repeatable ? " (may be given several times)" : "";
  const std::string kind = flag.value.empty() ? " (yes or no)" : "";
  const std::string fallback = flag.value.empty() ? "no" : flag.fallback.empty() ? flag.value : flag.fallback;
  const std::string choices = flag.value.find('|') != std::string::npos ? " (" + flag.value + ")" : "";
  return "\n" + comment(flag.help + more + kind + choices) + "#" + key_of(flag) + " = " + fallback + "\n";
}

}  // namespace

Error ConfigFile::located(const Error& error) const {
  const size_t end = std::min(error.message.find_first_of(": "), error.message.size());
  const auto found = lines.find(std::string_view(error.message).substr(0, end));
  if (found == lines.end()) return error;
  return {error.code, path + ":" + std::to_string(found->second) + ": " + error.message.substr(kDashes.size())};
}

std::vector<Flag> config_flags() {
  return {
      {"--config", "FILE", "read what no flag says from this file: lines KEY = VALUE, KEY a flag's name without --", "",
       false, true},
      {"--print-config", "", "print such a file, with every key and its default as a comment; then end", "", false,
       true},
      {"--check-config", "", "say whether flags, file, certificates and tokens are right; then end", "", false, true},
      {"--version", "", "print the version; then end", "", false, true},
      {"--log-level", "debug|info|warning|error", "the least that is logged", "info"}};
}

Result<LogLevel> log_level(const Args& args) {
  const std::vector<std::string> words = {"debug", "info", "warning", "error"};  // in the order of LogLevel
  Result<std::string> word = args.one_of("--log-level", words);
  if (!word) return word.error();
  return static_cast<LogLevel>(std::find(words.begin(), words.end(), *word) - words.begin());
}

Result<ConfigFile> parse_config(const CommandLine& line, const std::string& path, std::string_view text) {
  return ConfigParser(line, path).parse(text);
}

Result<ConfigFile> read_config(const CommandLine& line, const std::string& path) {
  Result<std::string> text = read_small_file(path);
  if (!text) return invalid("--config: " + text.error().message);
  return parse_config(line, path, *text);
}

std::string config_text(const CommandLine& line) {
  std::string out = comment("Configuration of " + line.name + ", read by '" + line.name + " --config FILE'.") + "#\n" +
                    comment(
                        "Each key is a flag of the command line, which goes before this file. What stands here "
                        "behind a '#' is the default, or says what kind of value is meant. '" +
                        line.name + " --check-config --config FILE' checks; SIGHUP has the program read it again.");
  for (const Flag& flag : line.flags) {
    if (!flag.only_typed) out += entry(flag);
  }
  return out;
}

Error Settings::located(const Error& error) const {
  const size_t end = std::min(error.message.find_first_of(": "), error.message.size());
  return typed.given(error.message.substr(0, end)) ? error : file.located(error);
}

Result<Settings> parse_settings(const CommandLine& line, const std::vector<std::string>& words) {
  Result<Args> typed = parse_args(line, words);
  if (!typed) return typed.error();
  if (typed->wants_help()) return Settings{.typed = *typed, .file = {}, .args = *typed};
  return read_again(line, Settings{.typed = *typed, .file = {}, .args = {}});
}

Result<Settings> read_again(const CommandLine& line, const Settings& settings) {
  const std::string path = settings.typed.get("--config");
  if (path.empty() && settings.typed.given("--config")) return invalid("--config: names no file");
  if (path.empty()) return Settings{.typed = settings.typed, .file = {}, .args = settings.typed};
  Result<ConfigFile> file = read_config(line, path);
  if (!file) return file.error();
  Args args = settings.typed.over(file->args);
  return Settings{.typed = settings.typed, .file = *std::move(file), .args = std::move(args)};
}

std::vector<std::string> changed_keys(const CommandLine& line, const Args& before, const Args& after) {
  std::vector<std::string> keys;
  for (const Flag& flag : line.flags) {
    const bool same = before.has(flag.name) == after.has(flag.name) && before.all(flag.name) == after.all(flag.name);
    // What is written down and is the default has not changed either.
    const bool same_value = !flag.value.empty() && !flag.repeatable && before.get(flag.name) == after.get(flag.name);
    if (!same && !same_value) keys.push_back(key_of(flag));
  }
  return keys;
}

}  // namespace fathom::cli
