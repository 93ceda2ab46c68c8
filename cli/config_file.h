// Configuration files: the flags of a program's command line, written down as `key = value`.
//
// Purpose: every flag is a key by construction, its help the comment beside it, so that file, flags and documentation
// cannot differ. A key is the flag's name without "--"; switches take yes or no; keys of repeatable flags may repeat;
// a `#` at a line's begin, or behind a blank, begins a comment. What the command line gives goes before the file.
// Thread safety: plain values. Ownership: Args refers to the CommandLine, which is static.
// Errors: kInvalid, naming FILE:LINE, and for a wrong key the nearest right one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "cli/args.h"

namespace fathom::cli {

struct ConfigFile {
  std::string path;
  Args args;
  std::map<std::string, size_t, std::less<>> lines;  // of each flag that it gives

  // An error that begins with a flag of this file's, as one of its line.
  Error located(const Error& error) const;
};

// --config, --print-config, --check-config and --log-level.
std::vector<Flag> config_flags();
Result<LogLevel> log_level(const Args& args);

Result<ConfigFile> parse_config(const CommandLine& line, const std::string& path, std::string_view text);
Result<ConfigFile> read_config(const CommandLine& line, const std::string& path);

// A file with every key, commented out, with its default and its help.
std::string config_text(const CommandLine& line);

// What the command line gave, over what its --config file says, if it names one.
struct Settings {
  Args typed;
  ConfigFile file;  // without a path: none is named
  Args args;

  Error located(const Error& error) const;
};

Result<Settings> parse_settings(const CommandLine& line, const std::vector<std::string>& words);
// The same command line with the file as it is now.
Result<Settings> read_again(const CommandLine& line, const Settings& settings);

// The keys (without "--") whose values differ.
std::vector<std::string> changed_keys(const CommandLine& line, const Args& before, const Args& after);

}  // namespace fathom::cli
