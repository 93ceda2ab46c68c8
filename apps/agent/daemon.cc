#include "apps/agent/daemon.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/post.hpp>

#include "base/log.h"
#include "base/time.h"
#include "node-agent/agent/descriptor_budget.h"
#include "node-agent/agent/metrics_face.h"

namespace fathom {

namespace {

// Together less than the 30 s that supervisors wait before they kill.
constexpr uint64_t kDrainGraceNano = 5 * kNanosPerSecond;
constexpr uint64_t kUplinkGraceNano = 5 * kNanosPerSecond;
constexpr uint64_t kHttpGraceNano = kNanosPerSecond / 2;

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

Daemon::Daemon(AgentProgramOptions options, agent::FdStore store, std::vector<agent::InheritedFd> inherited)
    : options_(std::move(options)), store_(std::move(store)), inherited_(std::move(inherited)) {}

Daemon::~Daemon() {
  // The uplink's callbacks end with it, before the pools that they speak of.
  uplink_.reset();
  agent_.reset();
}

agent::UplinkOptions Daemon::uplink_options() const {
  return {.collector_address = options_.collector,
          .node_id = state_->node_id(),
          .host_name = host_name(),
          .agent_version = FATHOM_VERSION,
          .spool_directory = state_->spool(),
          .spool_limit_bytes = options_.spool_limit_bytes};
}

agent::AgentOptions Daemon::agent_options() const {
  agent::AgentOptions options;
  options.listener.path = options_.agent_socket;
  options.listener.node_id = state_->node_id();
  options.drain.node_id = state_->node_id();
  options.drain.boot_id = agent::boot_id();
  return agent::fit_descriptors(options, agent::most_open_files());
}

agent::NodeFacts Daemon::facts() const {
  if (!agent_) return {};
  return {.programs = agent_->programs(), .losses = agent_->losses(), .told = agent_->losses_told()};
}

Result<> Daemon::start() {
  Result<agent::StateDirectory> state = agent::StateDirectory::open(options_.state_directory);
  if (!state) return state.error();
  state_ = *std::move(state);
  uplink_ = std::make_unique<agent::Uplink>(loop_, uplink_options(), [this] { return facts(); });
  Result<> connects = uplink_->start();
  if (!connects) return connects;
  agent_ = std::make_unique<agent::Agent>(loop_, agent_options(), clock_, store_, *uplink_);
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
      net::HttpServerOptions{.listener = "agent", .address = options_.http_address, .max_connections = 64},
      std::make_shared<agent::MetricsFace>([this](std::function<void(agent::Agent&)> ask) {
        boost::asio::post(loop_, [this, ask = std::move(ask)] { ask(*agent_); });
      }));
  Result<std::string> bound = http_->start();
  if (!bound) return bound.error();
  log_info("metrics at http://" + *bound + "/metrics");
  return {};
}

void Daemon::run(cli::Signals& signals) {
  signal_.assign(::fcntl(signals.descriptor(), F_DUPFD_CLOEXEC, 0));
  wait_for_signal(signals);
  loop_.run();
  if (http_) http_->stop(kHttpGraceNano);
}

void Daemon::wait_for_signal(cli::Signals& signals) {
  signal_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this, &signals](const boost::system::error_code& fault) {
                       if (fault) return;
                       if (signals.wait(-1, 0).stop) return stop();
                       wait_for_signal(signals);
                     });
}

void Daemon::stop() {
  log_info("stopping");
  store_.say("STOPPING=1");
  agent_->stop(kDrainGraceNano, [this] { uplink_->finish(kUplinkGraceNano, [this] { loop_.stop(); }); });
}

}  // namespace fathom
