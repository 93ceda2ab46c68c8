// Server: store, collector and query in one process, from their start to their orderly end.
//
// Thread safety: start() and stop() from one thread. Ownership: all parts; the stores go last. Errors: start()
// says what could not be had (a port, the data directory) and the cure; nothing is left running then.
#pragma once

#include <memory>

#include "apps/server/options.h"
#include "base/result.h"
#include "cli/addresses.h"
#include "cli/security_flags.h"
#include "cli/signals.h"
#include "collector/agents/node_keys.h"
#include "collector/control/control_router.h"
#include "ingest/control.h"
#include "net/audit_log.h"
#include "net/tokens.h"
#include "redact/redactor.h"

namespace fathom {

// Of `anew`, what Server::reload() takes, so that a later start of the server has it, too.
void adopt_reloaded(const ServerOptions& anew, ServerOptions& options);

class Server {
 public:
  explicit Server(ServerOptions options) : options_(std::move(options)) {}
  ~Server() { stop(); }

  // A data directory that another process still holds is waited for; kCancelled when a signal came meanwhile.
  Result<cli::Addresses> start(cli::Signals& signals);
  // After an error of start(): the data directory is incomplete, damaged or newer, so that another start fails, too.
  bool is_data_unusable() const { return is_data_unusable_; }
  // Limits, retention, redaction rules, certificates and tokens as `options` has them, while all goes on; what else
  // differs is as it was. With an error all of it is.
  Result<> reload(const ServerOptions& options);
  // Says in the log which certificates end soon.
  void warn_of_expiry() const { cli::warn_of_expiry(security_); }
  // Takes nothing more, answers what is under way, closes the store. Idempotent.
  void stop();

 private:
  Result<> open_store(cli::Signals& signals);
  void start_control();
  Result<> load_query_token();
  // The server's redaction rules: for spans, and for agents, which apply them to captures.
  struct RedactionRules {
    std::shared_ptr<const Redactor> redactor;
    ingest::RedactionRules of_agents;
  };
  static Result<RedactionRules> load_redaction(const ServerOptions& options);

  ServerOptions options_;
  bool is_data_unusable_ = false;
  net::ListenerSecurity security_;
  std::shared_ptr<net::Tokens> query_tokens_;  // of --query-token-file
  std::shared_ptr<net::AuditLog> audit_;
  std::unique_ptr<store::RocksStore> store_;
  std::unique_ptr<query::SnapshotStore> snapshots_;
  std::unique_ptr<collector::SnapshotSink> snapshot_sink_;
  std::shared_ptr<collector::ThresholdLearner> learner_;
  std::shared_ptr<collector::NodeStreams> streams_;
  std::shared_ptr<collector::ControlRouter> router_;
  std::unique_ptr<collector::Collector> collector_;
  std::unique_ptr<query::QueryServer> query_;
};

}  // namespace fathom
