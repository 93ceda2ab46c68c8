#include "cli/supervised.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/log.h"
#include "base/time.h"
#include "cli/exit_codes.h"

namespace fathom::cli {

namespace {

constexpr size_t kReadyBytes = 4096;  // a line of addresses is far shorter

// What a service manager told us is not for those whom we start.
constexpr const char* kOurOwn[] = {"NOTIFY_SOCKET", "LISTEN_FDS",   "LISTEN_FDNAMES",
                                   "LISTEN_PID",    "WATCHDOG_PID", "WATCHDOG_USEC"};

bool is_data_unusable(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(ExitCode::kDataUnusable);
}

}  // namespace

// Its own words are on standard error already.
Error Supervised::never_ready(int status) const {
  if (is_data_unusable(status)) return corrupt("the " + options_.name + " cannot use its data directory");
  bool usage = WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(ExitCode::kUsage);
  if (usage) return invalid("the " + options_.name + " does not take these flags");
  return internal("the " + options_.name + " " + describe_exit(status) + " before it was ready");
}

uint64_t Supervised::due_monotonic_nano() const {
  return running() ? UINT64_MAX : due_monotonic_nano_;
}

Result<> Supervised::start_if_due(uint64_t now_monotonic_nano) {
  if (running() || now_monotonic_nano < due_monotonic_nano_) return {};
  if (!ever_ready_ && options_.may_start) {
    if (Result<> may = options_.may_start(); !may) return may;
  }
  Result<> started = start();
  if (started || !ever_ready_) return started;
  start_again(started.error().message);
  return {};
}

ChildOptions Supervised::child_options(int ready_end) const {
  ChildOptions child;
  for (const char* name : kOurOwn) child.environment.emplace_back(name, std::nullopt);
  int number = FdStore::kFirstNumber;
  if (options_.store != nullptr) {
    options_.store->take_all();  // the last words of the one that died
    number = options_.store->equip(child);
  }
  child.command = options_.command();
  child.command.push_back("--ready-fd");
  child.command.push_back(std::to_string(number));
  child.descriptors.emplace_back(number, ready_end);
  return child;
}

Result<> Supervised::start() {
  Result<Pipe> ready = make_pipe();
  if (!ready) return ready.error();
  Result<Child> child = Child::start(child_options(ready->write.get()));
  if (!child) return child.error();
  child_ = *std::move(child);
  if (options_.store != nullptr) options_.store->expect(child_->pid());
  ready_pipe_ = std::move(ready->read);
  ready_text_.clear();
  ready_since_monotonic_nano_ = 0;
  return {};
}

void Supervised::read_ready() {
  char buffer[512];
  ssize_t size = ::read(ready_pipe_.get(), buffer, sizeof buffer);
  if (size > 0) ready_text_.append(buffer, static_cast<size_t>(size));
  bool whole = ready_text_.find('\n') != std::string::npos;
  bool over = size <= 0 || whole || ready_text_.size() > kReadyBytes;
  if (over) ready_pipe_.close();
  if (whole) note_ready();
}

void Supervised::note_ready() {
  Result<> understood = options_.on_ready(std::string_view(ready_text_).substr(0, ready_text_.find('\n')));
  if (!understood) {
    log_error("the " + options_.name + ": " + understood.error().message);
    return terminate();  // whatever it is, it is not what was wanted
  }
  if (ever_ready_) log_info("the " + options_.name + " is back");
  ready_since_monotonic_nano_ = now_monotonic_nano();
  ever_ready_ = true;
}

Result<> Supervised::look() {
  if (!running()) return {};
  std::optional<int> status = child_->poll();
  if (!status) return {};
  if (ready_pipe_.open()) read_ready();  // it may have said so just before
  ready_pipe_.close();
  if (!ever_ready_ || is_data_unusable(*status)) return never_ready(*status);
  start_again("the " + options_.name + " " + describe_exit(*status));
  return {};
}

void Supervised::start_again(const std::string& fault) {
  uint64_t now = now_monotonic_nano();
  bool was_healthy = ready_since_monotonic_nano_ != 0 && now - ready_since_monotonic_nano_ >= options_.healthy_nano;
  bool afresh = was_healthy || pause_nano_ == 0;
  pause_nano_ = afresh ? options_.first_pause_nano : std::min(pause_nano_ * 2, options_.longest_pause_nano);
  due_monotonic_nano_ = now + pause_nano_;
  ready_since_monotonic_nano_ = 0;
  log_error(fault + "; starting it again in " + format_duration(pause_nano_));
}

void Supervised::reload() const {
  if (child_ && options_.reloads && !starting()) child_->signal(SIGHUP);
}

void Supervised::terminate() const {
  if (child_) child_->signal(SIGTERM);
}

bool Supervised::ended() {
  return !running() || child_->poll().has_value();
}

}  // namespace fathom::cli
