#include "cli/supervisor.h"

#include <algorithm>

#include "base/log.h"
#include "base/time.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kRemarkIntervalNano = 10 * kNanosPerSecond;  // between two remarks that something is still starting

}  // namespace

Result<> Supervisor::run(const std::function<void()>& on_first_ready) {
  Result<> watched = watch(on_first_ready);
  stop_all();
  return watched;
}

Result<> Supervisor::watch(const std::function<void()>& on_first_ready) {
  bool announced = false;
  while (true) {
    Result<> started = start_those_due();
    if (!started) return started;
    Signals::Wakeup wakeup = wait(std::min(until_next_start(), kRemarkIntervalNano));
    if (wakeup.stop) return {};
    if (wakeup.reload) reload_all();
    for (Supervised& program : programs_) {
      Result<> looked = program.look();
      if (!looked) return looked;
    }
    bool nothing = !wakeup.readable && !wakeup.child;
    if (nothing) say_what_is_starting();
    if (!announced && all_ready()) {
      announced = true;
      on_first_ready();
    }
  }
}

// Until all were ready once, nobody is started before its predecessor is ready.
Result<> Supervisor::start_those_due() {
  for (Supervised& program : programs_) {
    Result<> started = program.start_if_due(now_monotonic_nano());
    if (!started) return started;
    if (!program.ever_ready()) return {};
  }
  return {};
}

// Reads what came, and says what it was.
Signals::Wakeup Supervisor::wait(uint64_t timeout_nano) {
  std::vector<pollfd> watched;
  for (const Supervised& program : programs_) {
    FdStore* store = program.options().store;
    watched.push_back({program.ready_descriptor(), POLLIN, 0});
    watched.push_back({store == nullptr ? -1 : store->descriptor(), POLLIN, 0});
  }
  Signals::Wakeup wakeup = signals_.wait(watched, timeout_nano);
  for (size_t i = 0; i < programs_.size(); ++i) {
    if (watched[2 * i].revents != 0) programs_[i].read_ready();
    if (watched[2 * i + 1].revents != 0) programs_[i].options().store->take();
  }
  return wakeup;
}

uint64_t Supervisor::until_next_start() const {
  uint64_t now = now_monotonic_nano();
  uint64_t next = UINT64_MAX;
  for (const Supervised& program : programs_) {
    next = std::min(next, program.due_monotonic_nano());
    if (!program.ever_ready()) break;
  }
  return next == UINT64_MAX ? next : next > now ? next - now : 0;
}

void Supervisor::say_what_is_starting() const {
  for (const Supervised& program : programs_) {
    if (program.starting()) log_info("the " + program.name() + " is still starting");
  }
}

bool Supervisor::all_ready() const {
  return std::all_of(programs_.begin(), programs_.end(),
                     [](const Supervised& program) { return program.ever_ready(); });
}

void Supervisor::reload_all() const {
  for (const Supervised& program : programs_) program.reload();
}

void Supervisor::stop_all() {
  bool patient = true;
  for (auto program = programs_.rbegin(); program != programs_.rend(); ++program) {
    if (patient) patient = stop(*program);
    program->kill();
  }
}

// False when it was not patient to the end: told a second time.
bool Supervisor::stop(Supervised& program) {
  program.terminate();
  uint64_t deadline = now_monotonic_nano() + program.options().stop_grace_nano;
  while (!program.ended()) {
    uint64_t now = now_monotonic_nano();
    if (now >= deadline) {
      log_warning("the " + program.name() + " does not end; killing it");
      return true;
    }
    if (wait(deadline - now).stop) return false;
  }
  return true;
}

}  // namespace fathom::cli
