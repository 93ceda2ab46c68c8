#include "bench/tracers/lttng_session.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/time.h"

namespace fathom::bench::tracers {

namespace {

using Words = std::vector<std::string>;

Result<> lttng(const Words& words) {
  Command command{{"lttng", "--no-sessiond"}, {}, "/dev/null"};
  command.words.insert(command.words.end(), words.begin(), words.end());
  Result<Ended> ended = run_to_end(command);
  if (!ended) return ended.error();
  if (!ended->fine()) return unavailable("lttng " + words[0] + ": " + ended->output);
  return {};
}

bool daemon_answers() {
  return lttng({"list"}).ok();
}

}  // namespace

Environment LttngSession::environment() {
  return {{"LTTNG_UST_REGISTER_TIMEOUT", "-1"}};  // or the first events would be lost
}

Result<std::unique_ptr<LttngSession>> LttngSession::start(const std::string& log_path) {
  if (!program_is_installed("lttng") || !program_is_installed("lttng-sessiond"))
    return unavailable("LTTng is not installed (Debian: lttng-tools, liblttng-ust-dev)");
  std::unique_ptr<LttngSession> session(new LttngSession());
  if (Result<> done = session->set_up(log_path); !done) return done.error();
  return session;
}

Result<> LttngSession::set_up(const std::string& log_path) {
  if (!daemon_answers()) {
    if (Result<> started = start_daemon(log_path); !started) return started;
  }
  name_ = "fathom-bench-" + std::to_string(::getpid());
  // "small" has the survey's two times 8 KiB per processor; "usual" what LTTng makes of itself.
  const Words steps[] = {
      {"create", name_, "--snapshot", "--no-output"},
      {"enable-channel", "-u", "-s", name_, "--overwrite", "usual"},
      {"enable-channel", "-u", "-s", name_, "--overwrite", "--subbuf-size=8K", "--num-subbuf=2", "small"},
      {"enable-event", "-u", "-s", name_, "-c", "usual", "fathom_bench:event"},
      {"enable-event", "-u", "-s", name_, "-c", "usual", "lttng_ust_tracef:event"},
      {"enable-event", "-u", "-s", name_, "-c", "small", "fathom_bench:event_small"},
      {"start", name_},
  };
  for (const Words& step : steps) {
    if (Result<> done = lttng(step); !done) return done;
  }
  return {};
}

Result<> LttngSession::start_daemon(const std::string& log_path) {
  auto started = Subprocess::start({{"lttng-sessiond", "--no-kernel"}, {}, log_path});
  if (!started) return started.error();
  daemon_ = std::move(*started);
  const uint64_t deadline = now_monotonic_nano() + 30 * kNanosPerSecond;
  while (!daemon_answers()) {
    if (!daemon_->running() || now_monotonic_nano() > deadline)
      return unavailable("lttng-sessiond does not start; see " + log_path);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return {};
}

LttngSession::~LttngSession() {
  if (!name_.empty()) (void)lttng({"destroy", name_}).ok();
}

}  // namespace fathom::bench::tracers
