// Daemon: socket, pools, uplink and spool of one agent in one process, from their start to their orderly end.
//
// Thread safety: one thread, which start() and run() keep. Ownership: all parts. Errors: start() says what could not be
// had (the socket, the state directory) and the cure; nothing is left running then.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "apps/agent/options.h"
#include "apps/agent/redaction.h"
#include "apps/agent/sources.h"
#include "base/result.h"
#include "cli/signals.h"
#include "net/http_server.h"
#include "node-agent/agent/agent.h"
#include "node-agent/agent/state_directory.h"
#include "node-agent/snapshots/node_snapshots.h"
#include "node-agent/triggers/capture_service.h"
#include "node-agent/uplink/uplink.h"

namespace fathom {

class Daemon {
 public:
  // `store` and `inherited`: what the supervisor said, before any thread.
  Daemon(AgentProgramOptions options, agent::FdStore store, std::vector<agent::InheritedFd> inherited);
  ~Daemon();

  Result<> start();
  // Limits, certificates and tokens as `options` has them, while all goes on; with an error all is as it was.
  Result<> reload(const AgentProgramOptions& options);
  // Until a signal says stop, calling `on_reload` when one says so, and then until all is sent or spooled, within
  // bounds.
  void run(cli::Signals& signals, std::function<void()> on_reload);

 private:
  Result<> load_security();
  Result<> check_collector_files();
  void watch_expiry();
  Result<> start_http();
  agent::UplinkOptions uplink_options();
  agent::AgentOptions agent_options() const;
  agent::NodeFacts facts() const;
  static agent::CaptureWorkerOptions worker_options(const AgentProgramOptions& options);
  agent::CaptureServiceOptions capture_options() const;
  agent::CaptureWorker::Encode capture_encoder() const;
  agent::NodeSnapshotOptions snapshot_options() const;
  Result<> start_snapshots();
  void wait_for_signal(cli::Signals& signals);
  void stop();

  const AgentProgramOptions options_;
  net::ListenerSecurity security_;
  std::function<void()> on_reload_;
  agent::FdStore store_;
  std::vector<agent::InheritedFd> inherited_;
  agent::HostClock clock_;
  boost::asio::io_context loop_{1};
  boost::asio::posix::stream_descriptor signal_{loop_};
  boost::asio::steady_timer expiry_{loop_};
  std::optional<agent::StateDirectory> state_;
  AgentRedactionRules redaction_;
  std::unique_ptr<agent::Uplink> uplink_;
  std::unique_ptr<agent::NodeSnapshots> snapshots_;  // null: none are cut, and none are left from before
  const agent::Sources sources_;
  std::unique_ptr<agent::CaptureService> captures_;  // null: none are made
  std::unique_ptr<agent::Agent> agent_;
  std::unique_ptr<net::HttpServer> http_;
};

}  // namespace fathom
