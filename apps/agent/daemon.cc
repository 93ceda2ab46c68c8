#include "apps/agent/daemon.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>

#include "base/in_flag.h"
#include "base/log.h"
#include "base/time.h"
#include "net/certificate_expiry.h"
#include "node-agent/agent/descriptor_budget.h"
#include "node-agent/agent/metrics_face.h"
#include "node-agent/snapshots/snapshot_metrics.h"
#include "node-agent/triggers/capture_metrics.h"
#include "node-agent/triggers/encode_capture.h"
#include "node-agent/uplink/grpc_snapshot_link.h"

namespace fathom {

namespace {

// Together less than the 30 s that supervisors wait before they kill.
constexpr uint64_t kDrainGraceNano = 5 * kNanosPerSecond;
constexpr uint64_t kUplinkGraceNano = 5 * kNanosPerSecond;
constexpr uint64_t kHttpGraceNano = kNanosPerSecond / 2;
// Rings, breakpoints, and files of programs that are held until a snapshot names them.
constexpr uint64_t kSnapshotFiles = 2048;

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

Daemon::Daemon(AgentProgramOptions options, agent::FdStore store, std::vector<agent::InheritedFd> inherited)
    : options_(std::move(options)),
      store_(std::move(store)),
      inherited_(std::move(inherited)),
      sources_(make_sources(options_)) {}

Daemon::~Daemon() {
  // The uplink's callbacks end with it, before the pools that they speak of.
  uplink_.reset();
  agent_.reset();
  captures_.reset();
  snapshots_.reset();
}

agent::UplinkOptions Daemon::uplink_options() {
  agent::UplinkOptions uplink{.collector_address = options_.collector,
                              .collector_tls = options_.collector_tls,
                              .collector_security = options_.collector_security,
                              .node_id = {state_->node_id()},
                              .node_key = {state_->node_key()},
                              .host_name = options_.node_name.empty() ? host_name() : options_.node_name,
                              .agent_version = FATHOM_VERSION,
                              .captures_off = !options_.captures,
                              .reports_skipped_captures = options_.captures,
                              .slowest_period_nano = options_.captures ? options_.slowest_period_nano : 0,
                              .use_redaction_rules = [this](const auto& rules) { redaction_.use_servers(rules); },
                              .spool_directory = state_->spool(),
                              .spool_limit_bytes = options_.spool_limit_bytes};
  uplink.capture_memory_bytes += options_.slowest_bytes;  // the agent sends a minute's slowest together
  return uplink;
}

agent::AgentOptions Daemon::agent_options() const {
  agent::AgentOptions options;
  options.listener.path = options_.agent_socket;
  options.listener.node_id = state_->node_id();
  options.drain.node_id = state_->node_id();
  options.drain.boot_id = agent::boot_id();
  options.drain.redaction = &redaction_.current();
  if (captures_) {
    options.observer = captures_.get();
    options.drain.finished_spans = &captures_->finished_spans();
  }
  options.marks_spans = snapshots_ && snapshots_->marks_spans();
  // The processor's rings are overwritten before the agent reads a late batch.
  if (snapshots_ && snapshots_->records()) options.drain.batch_pause_nano = options.drain.short_batch_pause_nano;
  const uint64_t most = agent::most_open_files();
  const bool shares = snapshots_ && snapshots_->records() && most > 2 * kSnapshotFiles;
  return agent::fit_descriptors(options, shares ? most - kSnapshotFiles : most);
}

agent::CaptureWorkerOptions Daemon::worker_options(const AgentProgramOptions& options) {
  agent::CaptureWorkerOptions worker;
  worker.budget_bytes = options.capture_budget_bytes;
  worker.most_held_bytes = std::max<uint64_t>(worker.most_held_bytes, 3 * options.capture_budget_bytes);
  return worker;
}

agent::CaptureServiceOptions Daemon::capture_options() const {
  agent::CaptureServiceOptions options;
  options.worker = worker_options(options_);
  options.provisional.minute_nano = options_.slowest_period_nano;
  options.provisional.most_bytes = options_.slowest_bytes / 4 * 3;
  options.provisional.most_held_bytes = options_.slowest_bytes / 4;
  options.overdue_after_nano = options_.overdue_after_nano.value_or(agent::kNever);
  options.snapshots = snapshots_ ? snapshots_->bell() : nullptr;
  options.collector_ahead_nano = [this] {
    std::optional<agent::ClockEstimate> clock = uplink_->status().clock;
    return clock ? clock->offset_nano : 0;
  };
  return options;
}

// On the worker's thread.
agent::CaptureWorker::Encode Daemon::capture_encoder() const {
  return [this](const agent::CaptureJob& job, const agent::TickTimes& times) {
    return agent::encode_redacted_capture(job, times, redaction_.current().get());
  };
}

agent::NodeSnapshotOptions Daemon::snapshot_options() const {
  agent::NodeSnapshotOptions options;
  options.armed = options_.pt;
  options.stand_in = options_.pt_stand_in;
  options.flow.pt.aux_bytes = options_.pt_buffer_bytes;
  options.flow.window_nano = options_.pt_window_nano;
  options.flow.symbol = options_.pt_symbol;
  options.flow.all_users = options_.pt_all_users;
  options.flow.private_images = options_.pt_private_images;
  options.directory = state_->snapshots();
  options.spool_bytes = options_.pt_spool_bytes;
  return options;
}

Result<> Daemon::start_snapshots() {
  auto made = agent::NodeSnapshots::make(snapshot_options(), [this] {
    return agent::open_grpc_snapshot_link({options_.collector, options_.collector_tls, options_.collector_security});
  });
  if (!made) return made.error();
  snapshots_ = *std::move(made);
  return {};
}

agent::NodeFacts Daemon::facts() const {
  if (!agent_) return {};
  agent::NodeFacts facts{.programs = agent_->programs(), .losses = agent_->losses(), .told = agent_->losses_told()};
  for (auto& loss : agent::capture_losses()) facts.losses.push_back(std::move(loss));
  for (auto& loss : sources_.losses()) facts.losses.push_back(std::move(loss));
  if (snapshots_) {
    for (auto& loss : agent::snapshot_losses()) facts.losses.push_back(std::move(loss));
  }
  return facts;
}

Result<> Daemon::load_security() {
  auto security = cli::load(options_.security);
  if (!security) return security.error();
  security_ = *std::move(security);
  return check_collector_files();
}

Result<> Daemon::check_collector_files() {
  auto expiries = net::expiries(options_.collector_security);
  if (!expiries) return expiries.error();
  net::warn_of_expiry(*expiries);
  return {};
}

// While all goes on, nobody else would look at the calendar.
void Daemon::watch_expiry() {
  expiry_.expires_after(std::chrono::nanoseconds(cli::kExpiryWarningNano));
  expiry_.async_wait([this](const boost::system::error_code& fault) {
    if (fault) return;
    cli::warn_of_expiry(security_);
    if (Result<> files = check_collector_files(); !files) log_warning(files.error().message);
    watch_expiry();
  });
}

// The collector's are read with each connection to it.
Result<> Daemon::reload(const AgentProgramOptions& options) {
  auto expiries = net::expiries(options.collector_security);
  if (!expiries) return expiries.error();
  auto rules = redaction_.read(options);
  if (!rules) return rules.error();
  if (Result<> loaded = cli::reload(security_); !loaded) return loaded;
  net::warn_of_expiry(*expiries);
  redaction_.use_own(*std::move(rules));
  uplink_->set_spool_limit(options.spool_limit_bytes);
  if (captures_) captures_->set_limits(worker_options(options));
  if (snapshots_) snapshots_->set_spool_limit(options.pt_spool_bytes);
  return {};
}

Result<> Daemon::start() {
  if (Result<> loaded = load_security(); !loaded) return loaded;
  Result<agent::StateDirectory> state = agent::StateDirectory::open(options_.state_directory);
  if (!state) return state.error();
  state_ = *std::move(state);
  if (Result<> rules = redaction_.open(options_, state_->path()); !rules) return rules;
  if (Result<> snapshots = start_snapshots(); !snapshots) return snapshots;
  uplink_ = std::make_unique<agent::Uplink>(loop_, uplink_options(), [this] { return facts(); });
  if (options_.captures) {
    captures_ = std::make_unique<agent::CaptureService>(loop_, capture_options(), clock_, sources_, capture_encoder(),
                                                        *uplink_);
    uplink_->set_control(captures_.get());
  }
  Result<> connects = uplink_->start();
  if (!connects) return connects;
  agent_ = std::make_unique<agent::Agent>(loop_, agent_options(), clock_, store_, *uplink_);
  if (captures_) captures_->set_agent(agent_.get());
  Result<> listens = agent_->start(std::move(inherited_));
  if (!listens) return listens;
  Result<> serves = start_http();
  if (!serves) return serves;
  store_.say("READY=1");
  return {};
}

Result<> Daemon::start_http() {
  if (options_.http_address.empty()) return {};
  http_ = std::make_unique<net::HttpServer>(
      net::HttpServerOptions{
          .listener = "agent", .address = options_.http_address, .max_connections = 64, .security = security_},
      std::make_shared<agent::MetricsFace>([this](std::function<void(agent::Agent&)> ask) {
        boost::asio::post(loop_, [this, ask = std::move(ask)] { ask(*agent_); });
      }));
  Result<std::string> bound = in_flag("--http", http_->start());
  if (!bound) return bound.error();
  log_info(std::string("metrics at http") + (security_.tls ? "s" : "") + "://" + *bound + "/metrics");
  return {};
}

void Daemon::run(cli::Signals& signals, std::function<void()> on_reload) {
  on_reload_ = std::move(on_reload);
  signal_.assign(::fcntl(signals.descriptor(), F_DUPFD_CLOEXEC, 0));
  wait_for_signal(signals);
  watch_expiry();
  loop_.run();
  if (http_) http_->stop(kHttpGraceNano);
}

void Daemon::wait_for_signal(cli::Signals& signals) {
  signal_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this, &signals](const boost::system::error_code& fault) {
                       if (fault) return;
                       const cli::Signals::Wakeup wakeup = signals.wait(-1, 0);
                       if (wakeup.stop) return stop();
                       if (wakeup.reload) on_reload_();
                       wait_for_signal(signals);
                     });
}

void Daemon::stop() {
  log_info("stopping");
  store_.say("STOPPING=1");
  agent_->stop(kDrainGraceNano, [this] {
    if (captures_) captures_->finish();
    uplink_->finish(kUplinkGraceNano, [this] { loop_.stop(); });
  });
}

}  // namespace fathom
