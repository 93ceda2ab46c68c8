#include "cli/supervisor.h"

#include <sys/wait.h>

#include <algorithm>

#include "base/log.h"
#include "base/time.h"
#include "cli/exit_codes.h"

namespace fathom::cli {

namespace {

constexpr int kReadyFd = 3;
constexpr size_t kReadyBytes = 4096;                      // a line of four addresses is far shorter
constexpr uint64_t kPatienceNano = 10 * kNanosPerSecond;  // between two remarks that it is still starting

// Its own words are on standard error already.
Error never_ready(int status) {
  bool usage = WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(ExitCode::kUsage);
  if (usage) return invalid("the server does not take these flags");
  return internal("the server " + describe_exit(status) + " before it was ready");
}

}  // namespace

Result<> Supervisor::run() {
  while (true) {
    Result<> started = start();
    if (started && watch() == Next::kStopped) return {};
    std::string fault = started ? "the server " + describe_exit(last_status_) : started.error().message;
    if (!ever_ready_) return started ? never_ready(last_status_) : internal(fault);
    plan_pause();
    log_error(fault + "; starting it again in " + format_duration(pause_nano_));
    if (!pause()) return {};
  }
}

Result<> Supervisor::start() {
  Result<Pipe> ready = make_pipe();
  if (!ready) return ready.error();
  std::vector<std::string> command{options_.program,
                                   "--http",
                                   options_.addresses.http,
                                   "--otlp-grpc",
                                   options_.addresses.otlp_grpc,
                                   "--otlp-http",
                                   options_.addresses.otlp_http,
                                   "--ready-fd",
                                   std::to_string(kReadyFd)};
  const std::string& query_grpc = options_.addresses.query_grpc;
  if (!query_grpc.empty()) command.insert(command.end(), {"--query-grpc", query_grpc});
  command.insert(command.end(), options_.arguments.begin(), options_.arguments.end());
  Result<Child> child = Child::start({command, "", {{kReadyFd, ready->write.get()}}});
  if (!child) return child.error();
  child_ = std::move(*child);
  ready_pipe_ = std::move(ready->read);
  ready_text_.clear();
  ready_since_monotonic_nano_ = 0;
  return {};
}

Supervisor::Next Supervisor::watch() {
  while (true) {
    bool starting = ready_pipe_.open();
    Signals::Wakeup wakeup = signals_.wait(ready_pipe_.get(), starting ? kPatienceNano : UINT64_MAX);
    if (wakeup.stop) return stop_child();
    if (wakeup.readable) read_ready();
    if (wakeup.child) {
      if (auto status = child_->poll()) {
        last_status_ = *status;
        return Next::kDied;
      }
    }
    bool nothing = !wakeup.readable && !wakeup.child;
    if (starting && nothing) log_info("the server is still starting");
  }
}

void Supervisor::read_ready() {
  char buffer[512];
  ssize_t size = ::read(ready_pipe_.get(), buffer, sizeof buffer);
  if (size > 0) ready_text_.append(buffer, static_cast<size_t>(size));
  size_t end = ready_text_.find('\n');
  if (end != std::string::npos) {
    Result<Addresses> addresses = parse_addresses(std::string_view(ready_text_).substr(0, end));
    if (addresses) note_ready(*addresses);
    if (!addresses) log_error(addresses.error().message);
  }
  bool over = size <= 0 || end != std::string::npos || ready_text_.size() > kReadyBytes;
  if (over) ready_pipe_.close();
}

void Supervisor::note_ready(const Addresses& addresses) {
  ready_since_monotonic_nano_ = now_monotonic_nano();
  options_.addresses = addresses;
  if (ever_ready_) log_info("the server is back");
  if (!ever_ready_) options_.on_first_ready(addresses);
  ever_ready_ = true;
}

Supervisor::Next Supervisor::stop_child() {
  child_->signal(SIGTERM);
  uint64_t deadline = now_monotonic_nano() + options_.stop_grace_nano;
  while (!child_->poll()) {
    uint64_t now = now_monotonic_nano();
    Signals::Wakeup wakeup = signals_.wait(-1, now < deadline ? deadline - now : 0);
    if (!wakeup.stop && !wakeup.child) log_warning("the server does not end; killing it");
    if (!wakeup.child) break;  // told a second time, or out of patience: the destructor kills it
  }
  child_.reset();
  return Next::kStopped;
}

void Supervisor::plan_pause() {
  uint64_t ready_since = ready_since_monotonic_nano_;
  bool was_healthy = ready_since != 0 && now_monotonic_nano() - ready_since >= options_.healthy_nano;
  bool afresh = was_healthy || pause_nano_ == 0;
  pause_nano_ = afresh ? options_.first_pause_nano : std::min(pause_nano_ * 2, options_.longest_pause_nano);
}

bool Supervisor::pause() {
  uint64_t until = now_monotonic_nano() + pause_nano_;
  for (uint64_t now = now_monotonic_nano(); now < until; now = now_monotonic_nano()) {
    if (signals_.wait(-1, until - now).stop) return false;
  }
  return true;
}

}  // namespace fathom::cli
