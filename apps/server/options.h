// ServerOptions: the command line of fathom-server as the options of its parts.
//
// Thread safety: plain values. Errors: kInvalid, naming the flag.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/args.h"
#include "cli/security_flags.h"
#include "collector/collector.h"
#include "collector/control/threshold_learner.h"
#include "query/query_server.h"
#include "query/snapshots/snapshot_store.h"
#include "store/rocks/rocks_store.h"

namespace fathom {

struct ServerOptions {
  store::RocksOptions store;
  collector::CollectorOptions collector;
  query::QueryOptions query;
  collector::LearnerOptions thresholds;
  query::SnapshotOptions snapshots;
  std::string snapshot_worker;    // empty: fathom-worker beside this program
  bool is_worker_unsafe = false;  // it decodes also where it cannot be confined
  std::string page;               // empty: ../share/fathom/page beside this program, if it is there
  cli::ListenerFiles security;    // which Server loads
  // The tokens for queries and control, made if it is missing. Empty: none is asked for. No value: likewise, and there
  // is a warning.
  std::optional<std::string> query_token_file;
  std::vector<std::string> redact_rules;  // checked
  std::string redact_key_file;            // made when a rule needs it first
  std::string audit_log;                  // a file; empty: the program's log has control requests
  std::optional<int> ready_fd;            // gets one line of JSON, then is closed
};

const cli::CommandLine& server_command_line();

// `home` and `xdg_data_home` as the environment has them: the data directory's default.
Result<ServerOptions> server_options(const cli::Args& args, const std::optional<std::string>& xdg_data_home,
                                     const std::optional<std::string>& home);

}  // namespace fathom
