// AgentProgramOptions: the command line of fathom-agent as the options of its parts.
//
// Thread safety: plain values. Errors: kInvalid, naming the flag.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/args.h"
#include "cli/security_flags.h"

namespace fathom {

struct AgentProgramOptions {
  std::string agent_socket;
  std::string node_name;  // empty: the system's
  std::string collector;
  bool collector_tls = false;
  net::ClientSecurity collector_security;
  cli::ListenerFiles security;  // of --http
  std::string state_directory;
  uint64_t spool_limit_bytes = 0;
  std::string http_address;         // empty: none
  std::vector<std::string> redact;  // rules
  std::string redact_key_file;      // empty: in the state directory
  bool captures = true;
  std::string kernel_events;         // "off", "requested", "scheduling", "traced"
  uint64_t kernel_events_bytes = 0;  // per processor
  uint64_t slowest_period_nano = 0;
  uint64_t slowest_bytes = 0;
  uint64_t capture_budget_bytes = 0;
  std::optional<uint64_t> overdue_after_nano;  // none: of unknown operations nothing is overdue
  bool pt = false;
  bool pt_all_users = false;
  bool pt_private_images = false;
  uint64_t pt_buffer_bytes = 0;  // per CPU
  uint64_t pt_window_nano = 0;
  std::string pt_symbol;  // FILE:FUNCTION, or empty
  uint64_t pt_spool_bytes = 0;
  bool pt_stand_in = false;     // for developers: docs/intel-pt.md
  std::optional<int> ready_fd;  // gets one line of JSON, then is closed
};

// What the defaults depend on.
struct AgentEnvironment {
  bool root = false;
  std::optional<std::string> agent_socket;     // $FATHOM_AGENT_SOCKET
  std::optional<std::string> xdg_runtime_dir;  // $XDG_RUNTIME_DIR
  std::optional<std::string> xdg_state_home;   // $XDG_STATE_HOME
  std::optional<std::string> home;             // $HOME
  std::optional<std::string> pt_stand_in;      // $FATHOM_PT_STAND_IN
};

const cli::CommandLine& agent_command_line();
Result<AgentProgramOptions> agent_options(const cli::Args& args, const AgentEnvironment& environment);

}  // namespace fathom
