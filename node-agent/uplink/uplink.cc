#include "node-agent/uplink/uplink.h"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/metrics.h"
#include "base/time.h"
#include "ingest/agent_messages.h"
#include "node-agent/agent/state_directory.h"
#include "node-agent/clock/clock_source.h"
#include "node-agent/uplink/courier.h"
#include "node-agent/uplink/grpc_link.h"

namespace fathom::agent {

namespace {

constexpr auto kTick = std::chrono::milliseconds(50);

LocalInstant host_instant() {
  ClockReading reading = HostClock().read();
  return {reading.real_nano, reading.boot_nano, 0};
}

uint64_t resident_bytes() {
  uint64_t total_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

struct Uplink::Impl : std::enable_shared_from_this<Impl> {
  Impl(boost::asio::io_context& given_loop, UplinkOptions given, std::function<NodeFacts()> given_facts)
      : loop(given_loop), options(std::move(given)), facts(std::move(given_facts)), timer(loop) {}

  Result<> start() {
    Result<std::unique_ptr<SpoolPort>> spool = open();
    if (!spool) return spool.error();
    courier = std::make_unique<Courier>(options, surroundings(), *std::move(spool));
    tick();
    return {};
  }

  Result<std::unique_ptr<SpoolPort>> open() {
    if (options.spool_directory.empty()) return std::unique_ptr<SpoolPort>();
    SpoolOptions spool;
    spool.directory = options.spool_directory;
    spool.limit_bytes = options.spool_limit_bytes;
    spool.boot_id = boot_id();
    return open_spool(loop, std::move(spool));
  }

  Courier::Surroundings surroundings() {
    Courier::Surroundings all;
    all.now_nano = now_monotonic_nano;
    all.instant = host_instant;
    all.post = [&to = loop](std::function<void()> work) { boost::asio::post(to, std::move(work)); };
    all.open_link = [this](LinkEvents events) {
      return open_grpc_link(
          {{options.collector_address, options.collector_tls, options.collector_security}, hello(), host_instant},
          std::move(events));
    };
    all.report = [this] { return report(); };
    all.control = [this] { return control; };
    return all;
  }

  std::string hello() const {
    return encode(ingest::Hello{.node_id = options.node_id,
                                .instance_id = instance_id,
                                .host_name = options.host_name,
                                .agent_version = options.agent_version,
                                .takes_requests = control != nullptr,
                                .captures_off = options.captures_off,
                                .reports_skipped_captures = options.reports_skipped_captures,
                                .slowest_period_nano = options.slowest_period_nano,
                                .node_key = options.node_key,
                                .takes_redaction_rules = options.use_redaction_rules != nullptr});
  }

  Courier::Report report() const {
    NodeFacts node = facts ? facts() : NodeFacts();
    std::function<void()> told = std::move(node.told);
    return {encode(status_of(std::move(node))), std::move(told)};
  }

  ingest::NodeStatus status_of(NodeFacts node) const {
    UplinkStatus status = courier->status();
    ingest::NodeStatus out;
    out.programs = node.programs;
    if (status.clock) {
      out.clock = ClockOffset{status.clock->offset_nano, status.clock->error_nano};
      out.clock_measured_unix_nano = status.clock->measured_unix_nano;
    }
    out.spool_bytes = status.spool_bytes;
    out.spool_limit_bytes = options.spool_directory.empty() ? 0 : options.spool_limit_bytes;
    out.acknowledged_spans = status.acknowledged_spans;
    out.resident_bytes = node.resident_bytes > 0 ? node.resident_bytes : resident_bytes();
    out.losses = std::move(node.losses);
    if (status.refused_spans > 0) out.losses.emplace_back("refused", status.refused_spans);
    if (status.damaged_spool_spans > 0) out.losses.emplace_back("spool_damaged", status.damaged_spool_spans);
    for (auto& lost : status.lost_captures) out.losses.push_back(std::move(lost));
    return out;
  }

  void tick() {
    courier->tick();
    show();
    timer.expires_after(kTick);
    timer.async_wait([weak = weak_from_this()](boost::system::error_code error) {
      if (auto self = weak.lock(); self && !error) self->tick();
    });
  }

  void show() {
    UplinkStatus status = courier->status();
    connected.set(status.connected);
    spool_bytes.set(static_cast<int64_t>(status.spool_bytes));
  }

  boost::asio::io_context& loop;
  UplinkOptions options;  // constant but for the spool's limit
  const std::function<NodeFacts()> facts;
  const ingest::InstanceId instance_id{random_id()};
  boost::asio::steady_timer timer;
  std::unique_ptr<Courier> courier;
  ControlHandler* control = nullptr;
  Gauge& connected = gauge("fathom_agent_connected", "1 while the collector takes this agent's stream");
  Gauge& spool_bytes = gauge("fathom_agent_spool_bytes", "Files of the spool");
};

Uplink::Uplink(boost::asio::io_context& loop, UplinkOptions options, std::function<NodeFacts()> facts)
    : impl_(std::make_shared<Impl>(loop, std::move(options), std::move(facts))) {}

Uplink::~Uplink() = default;

Result<> Uplink::start() {
  return impl_->start();
}

bool Uplink::room(uint64_t bytes) {
  return impl_->courier->room(bytes);
}

uint64_t Uplink::most_bytes() const {
  return impl_->courier->most_bytes();
}

void Uplink::send(OutgoingBatch batch, std::function<void(Outcome)> done) {
  impl_->courier->send(std::move(batch), std::move(done));
}

void Uplink::announce(ingest::SlowTrace trace) {
  impl_->courier->announce(std::move(trace));
}

bool Uplink::report_skipped(const ingest::SkippedCaptures& skipped) {
  return impl_->courier->report_skipped(skipped);
}

LocalInstant Uplink::mark() {
  return impl_->courier->mark();
}

void Uplink::send(OutgoingCapture capture, std::function<void(CaptureFate)> done) {
  impl_->courier->send(std::move(capture), std::move(done));
}

void Uplink::set_control(ControlHandler* handler) {
  impl_->control = handler;
}

void Uplink::set_spool_limit(uint64_t bytes) {
  impl_->options.spool_limit_bytes = bytes;
  impl_->courier->set_spool_limit(bytes);
}

void Uplink::finish(uint64_t grace_nano, std::function<void()> done) {
  impl_->courier->finish(grace_nano, std::move(done));
}

UplinkStatus Uplink::status() const {
  return impl_->courier->status();
}

}  // namespace fathom::agent
