#include "node-agent/agent/agent.h"

#include <chrono>

#include "base/log.h"
#include "base/time.h"

namespace fathom::agent {

namespace {

constexpr const char* kListenerName = "fathom-agent-socket";

Fd take_listener(std::vector<InheritedFd>& inherited, const std::string& path) {
  for (InheritedFd& fd : inherited) {
    if (fd.descriptor.open() && Listener::listens_at(fd.descriptor.get(), path)) return std::move(fd.descriptor);
  }
  return {};
}

}  // namespace

Agent::Agent(boost::asio::io_context& loop, const AgentOptions& options, ClockSource& clock, FdStore& store,
             Outbox& outbox)
    : options_(options),
      store_(store),
      clock_(clock),
      drain_(loop, options.drain, clock_, losses_, outbox),
      programs_(store, losses_, options.limits, options.times, options.marks_spans, options.drain.redaction),
      details_(store, losses_, options.detail_limits, options.detail_times),
      listener_(loop, options.listener, *this),
      timer_(loop) {
  programs_.on_taken = [this](const std::shared_ptr<Program>& program) {
    if (options_.observer != nullptr) options_.observer->taken(program);
    if (clock_.ready()) drain_.add(program);
  };
  programs_.on_let_go = [this](ConnectionId connection) { listener_.cut_off(connection); };
}

Agent::~Agent() {
  *alive_ = false;
  listener_.close(store_.keeps());
}

Result<> Agent::start(std::vector<InheritedFd> inherited) {
  for (const InheritedFd& fd : inherited) store_.is_stored(fd.name);
  Fd kept = take_listener(inherited, options_.listener.path);
  bool was_kept = kept.open();
  Result<> listens = listener_.open(std::move(kept));
  if (!listens) return listens;
  if (!was_kept) store_.store(kListenerName, listener_.descriptor());
  size_t adopted = 0;
  for (InheritedFd& fd : inherited) {
    if (fd.descriptor.open() && adopt(fd.name, std::move(fd.descriptor))) ++adopted;
  }
  if (adopted > 0) log_info("goes on with pools=" + std::to_string(adopted));
  wait_for_tick();
  return {};
}

bool Agent::adopt(const std::string& name, Fd descriptor) {
  if (name.starts_with(ProgramId::kDetail)) return details_.adopt(name, std::move(descriptor));
  return programs_.adopt(name, std::move(descriptor));
}

// ---- what programs say ----------------------------------------------------------------------------------------------

pool::Verdict Agent::offered(ConnectionId connection, const Peer& peer, Fd descriptor, uint64_t pool_bytes) {
  return programs_.offered(connection, peer, std::move(descriptor), pool_bytes);
}

pool::Verdict Agent::detail_offered(ConnectionId connection, const Peer& peer, Fd descriptor, uint64_t pool_bytes) {
  return details_.offered(connection, peer, std::move(descriptor), pool_bytes);
}

uint32_t Agent::abilities(ConnectionId connection) {
  std::shared_ptr<Program> program = programs_.find(connection);
  bool follows = program && tracepoints_.welcome(connection, *program);
  return pool::kTakesDetail | pool::kSaysTracepoints | (follows ? uint32_t{pool::kTracepointsFollow} : 0);
}

void Agent::closed(ConnectionId connection) {
  programs_.closed(connection);
  details_.closed(connection);
  tracepoints_.forget(connection);
}

// ---- what the rest of the agent asks --------------------------------------------------------------------------------

std::function<void()> Agent::losses_told() const {
  return [spans = programs_.losses_told(), events = details_.losses_told()] {
    spans();
    events();
  };
}

std::vector<ProgramDetail> Agent::details() const {
  std::vector<ProgramDetail> all;
  details_.for_each([&](const std::shared_ptr<DetailPool>& pool) {
    all.push_back({pool->id().process, pool->service(), pool->ended(), pool});
  });
  return all;
}

Result<> Agent::switch_tracepoints(const TracepointSelector& selector, std::string_view patterns, RuleOrigin origin) {
  return tracepoints_.add(selector, patterns, origin, programs_);
}

Result<> Agent::set_fleet_tracepoints(const std::vector<TracepointRule>& rules) {
  return tracepoints_.replace_fleets(rules);
}

// ---- the timer ------------------------------------------------------------------------------------------------------

void Agent::wait_for_tick() {
  timer_.expires_after(std::chrono::nanoseconds(options_.poll_nano));
  timer_.async_wait([this, alive = alive_](const boost::system::error_code& fault) {
    if (*alive && !fault) tick();
  });
}

void Agent::tick() {
  uint64_t now = now_monotonic_nano();
  clock_.update();
  store_.retry();
  listener_.expire(now);
  // Before a program is let go of: its detail pool must have seen it.
  details_.tick(now, [this](uid_t uid, const std::array<uint8_t, 16>& id) { return programs_.find(uid, id); });
  programs_.tick(now);
  tracepoints_.tick(now, programs_, listener_);
  if (options_.observer != nullptr) options_.observer->looked_after(now, programs_, details_);
  if (clock_.ready()) queue_due(now);
  drain_.go_on();
  if (stopped_ && is_finished(now)) {
    drain_.halt();
    return std::exchange(stopped_, nullptr)();
  }
  wait_for_tick();
}

void Agent::queue_due(uint64_t now_nano) {
  programs_.for_each([&](const std::shared_ptr<Program>& program) {
    bool due = stopped_ ? !program->final_round : program->is_due(now_nano);
    if (due) drain_.add(program);
  });
}

void Agent::stop(uint64_t grace_nano, std::function<void()> done) {
  listener_.close(store_.keeps());
  drain_.hurry();
  stop_deadline_nano_ = now_monotonic_nano() + grace_nano;
  stopped_ = std::move(done);
}

bool Agent::is_finished(uint64_t now_nano) const {
  if (now_nano >= stop_deadline_nano_) return true;
  bool all_read = true;
  programs_.for_each([&](const std::shared_ptr<Program>& program) {
    all_read = all_read && (program->final_round || program->read_to_end);
  });
  return all_read && drain_.under_way() == 0;
}

}  // namespace fathom::agent
