// The command line, read by a table: each command lists its flags, and the parser, the help and the suggestions follow.
//
// Rules: `--flag VALUE` and `--flag=VALUE`; a switch takes no value, but =yes and =no where a configuration file may
// say otherwise; `--` ends the flags; an unknown flag is named with the nearest known one; a flag given twice is
// refused unless it is repeatable. Errors: kInvalid, naming flag and cure. Ownership: Args copies the values; it refers
// to the Command, whose tables are static. Thread safety: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::cli {

struct Flag {
  std::string name;      // "--service"
  std::string value;     // what the help calls its value, "S"; empty: a switch
  std::string help;      // one sentence
  std::string fallback;  // the value when it is not given; shown in the help
  bool repeatable = false;
  bool only_typed = false;  // of one run; no key of a configuration file
};

struct Positional {
  std::string name;
  std::string help;
  bool repeatable = false;  // any number of them, none included; only the last of a command
};

struct Example {
  std::string command;
  std::string says;
};

struct CommandLine {
  std::string name;     // "fathom slowest"
  std::string summary;  // one line, for the list of commands
  std::string about;    // a paragraph, for its own help
  std::vector<Positional> positionals;
  std::vector<Flag> flags;
  std::vector<Example> examples;
};

class Args {
 public:
  // Given, and not switched off.
  bool has(std::string_view flag) const;
  // The value given, or the table's fallback; empty when there is neither.
  std::string get(std::string_view flag) const;
  std::optional<std::string> given(std::string_view flag) const;
  std::vector<std::string> all(std::string_view flag) const;
  const std::string& positional(size_t index) const { return positionals_[index]; }
  // Those from that one on.
  std::vector<std::string> positionals_from(size_t index) const;
  bool wants_help() const { return help_; }
  // These, and of what they do not give (not even as switched off), what `below` gives.
  Args over(const Args& below) const;

  // Typed values; the error names the flag. The flag must have a value or a fallback.
  Result<uint64_t> duration_nano(std::string_view flag) const;
  Result<uint64_t> number(std::string_view flag, uint64_t least, uint64_t most) const;
  Result<uint64_t> size_bytes(std::string_view flag) const;
  Result<std::string> address(std::string_view flag) const;  // HOST:PORT
  Result<std::string> one_of(std::string_view flag, const std::vector<std::string>& choices) const;

 private:
  friend class ArgsParser;
  const CommandLine* line_ = nullptr;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::vector<std::string> positionals_;
  bool help_ = false;
};

// `words` without the program's and the command's name. --help is accepted everywhere, and then nothing is required,
// and nothing else is wrong.
Result<Args> parse_args(const CommandLine& line, const std::vector<std::string>& words);

}  // namespace fathom::cli
