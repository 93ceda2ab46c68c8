// Reloader: what a daemon does on SIGHUP: its configuration is read again, and what can change while it runs does.
//
// Purpose: one meaning of SIGHUP for all daemons: all of a file or, with an error in the log, nothing of it. The log
// says which keys changed and took effect, and which want a restart. Thread safety: one thread, the one that gets the
// signals. Ownership: refers to the command line, which is static.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/config_file.h"

namespace fathom::cli {

class Reloader {
 public:
  // Checks, then takes over what the settings say, with certificates and tokens anew.
  using Apply = std::function<Result<>(const Settings&)>;

  // `keys`: those that `apply` takes over; log-level is always one of them.
  Reloader(const CommandLine& line, Settings settings, std::vector<std::string> keys, Apply apply);

  void reload();

 private:
  void report(const std::vector<std::string>& changed);

  const CommandLine& line_;
  const Settings started_with_;
  Settings settings_;  // in effect, where they can be
  const std::vector<std::string> keys_;
  const Apply apply_;
};

// Whether there is something that SIGHUP could have read again: a configuration, certificates, tokens.
bool can_reload(const Args& args);

}  // namespace fathom::cli
