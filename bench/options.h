// The command line of a benchmark: "--name value" pairs, checked against the names that it knows.
//
// Thread safety: a plain value. Errors: kInvalid with a message that names the flag, or holds the help that was asked
// for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom::bench {

struct Flag {
  std::string_view name;  // "--spans"
  std::string value;      // the default, then what was given
  std::string_view help;
};

class Options {
 public:
  Options(std::string_view program, std::vector<Flag> flags) : program_(program), flags_(std::move(flags)) {}
  Result<> parse(int argc, char** argv);
  // The same for a main(): prints the help where it is asked for, and what is wrong. The exit status, when it is over.
  std::optional<int> parse_or_exit(int argc, char** argv);
  const std::string& text(std::string_view name) const;
  uint64_t number(std::string_view name) const;
  double real(std::string_view name) const;
  // Whether a comma-separated list names `item`, or is "all".
  bool selects(std::string_view name, std::string_view item) const;
  std::string command() const { return command_; }
  std::string help() const;

 private:
  Flag* find(std::string_view name);

  std::string program_;
  std::vector<Flag> flags_;
  std::string command_;
};

}  // namespace fathom::bench
