// Agent: programs' memory in, batches out: the socket, the pools, the clock, and the timer that drives them.
//
// Purpose: the daemon without its command line and without its uplink. Looks at all pools every 50 ms. Thread safety:
// every call on the thread that runs the loop. Ownership: `loop`, `clock`, `store` and `outbox` must outlive it.
// Errors: start() says what is wrong with the socket's path. docs/node-agent.md has the prose.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "node-agent/agent/detail_pools.h"
#include "node-agent/agent/drain.h"
#include "node-agent/agent/programs.h"
#include "node-agent/agent/tracepoint_switch.h"
#include "node-agent/clock/tick_clock.h"
#include "node-agent/fd_store/fd_store.h"
#include "node-agent/outbox.h"
#include "node-agent/pool/losses.h"
#include "node-agent/socket/listener.h"

namespace fathom::agent {

// Who looks for triggers, and makes captures.
class AgentObserver {
 public:
  virtual ~AgentObserver() = default;
  // A program has come; none of its spans was read yet.
  virtual void taken(const std::shared_ptr<Program>& program) = 0;
  // At each look at all programs, before any of those that are over now is let go of.
  virtual void looked_after(uint64_t now_monotonic_nano, const Programs& programs, const DetailPools& details) = 0;
};

struct AgentOptions {
  ListenerOptions listener;
  ProgramLimits limits;
  ProgramTimes times;
  DetailLimits detail_limits;
  DetailTimes detail_times;
  DrainOptions drain;  // `redaction` is also that of resources
  uint64_t poll_nano = 50'000'000;
  bool marks_spans = false;           // programs say their active span to Intel PT, which records them
  AgentObserver* observer = nullptr;  // outlives the agent
};

// A program whose last events are here.
struct ProgramDetail {
  ProcessId process;    // as this host sees it
  std::string service;  // empty: it has said none
  bool ended = false;
  std::shared_ptr<DetailPool> pool;
};

class Agent : private OfferHandler {
 public:
  Agent(boost::asio::io_context& loop, const AgentOptions& options, ClockSource& clock, FdStore& store, Outbox& outbox);
  ~Agent() override;

  Result<> start(std::vector<InheritedFd> inherited);
  // Takes no more programs, reads every pool once more, waits for the batches under way; at most `grace_nano`. Then
  // nothing more is read, and `done` is called. What is left stays in the pools, for a successor.
  void stop(uint64_t grace_nano, std::function<void()> done);

  uint32_t programs() const { return static_cast<uint32_t>(programs_.size()); }
  std::vector<std::pair<std::string, uint64_t>> losses() const { return losses_.list(); }
  // To be called when the collector knows what losses() is now, so that no successor of ours says it again.
  std::function<void()> losses_told() const;

  // All programs that have a detail pool, also those that are over and whose pool is still kept.
  std::vector<ProgramDetail> details() const;
  // Switches tracepoints by their names, in programs that are here and in those that come: what TracepointRules says.
  Result<> switch_tracepoints(const TracepointSelector& selector, std::string_view patterns,
                              RuleOrigin origin = RuleOrigin::kHere);
  // All that the collector wants of them: TracepointRules::replace_fleets().
  Result<> set_fleet_tracepoints(const std::vector<TracepointRule>& rules);

 private:
  pool::Verdict offered(ConnectionId connection, const Peer& peer, Fd descriptor, uint64_t pool_bytes) override;
  pool::Verdict detail_offered(ConnectionId connection, const Peer& peer, Fd descriptor, uint64_t pool_bytes) override;
  uint32_t abilities(ConnectionId connection) override;
  void closed(ConnectionId connection) override;
  bool adopt(const std::string& name, Fd descriptor);
  void wait_for_tick();
  void tick();
  void queue_due(uint64_t now_nano);
  bool is_finished(uint64_t now_nano) const;

  const AgentOptions options_;
  FdStore& store_;
  AgentLosses losses_;
  TickClock clock_;
  Drain drain_;
  Programs programs_;
  DetailPools details_;
  TracepointSwitch tracepoints_;
  Listener listener_;
  boost::asio::steady_timer timer_;
  std::function<void()> stopped_;  // while stopping
  uint64_t stop_deadline_nano_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // callbacks of asio may come after us
};

}  // namespace fathom::agent
