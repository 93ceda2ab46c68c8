#include "query/purge/purge_desk.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/secret.h"
#include "base/time.h"
#include "net/json_writer.h"

namespace fathom::query {

namespace {

constexpr size_t kIdDigits = 32;

}  // namespace

const char* name_of(PurgeState state) {
  switch (state) {
    case PurgeState::kNone:
      return "none";
    case PurgeState::kRunning:
      return "running";
    case PurgeState::kDone:
      return "done";
    case PurgeState::kFailed:
      return "failed";
  }
  return "none";
}

PurgeDesk::PurgeDesk() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_.open()) std::abort();  // the process has no descriptor left at its start
}

Result<std::string> PurgeDesk::ask(std::vector<store::Condition> where) {
  std::lock_guard lock(mutex_);
  if (status_.state == PurgeState::kRunning) return unavailable("a purge is under way; ask again when it has ended");
  where_ = std::move(where);
  status_ = {.id = random_secret().substr(0, kIdDigits), .state = PurgeState::kRunning, .counts = {}, .error = {}};
  status_.began_unix_nano = now_unix_nano();
  const uint64_t one = 1;
  (void)!::write(event_.get(), &one, sizeof one);
  return status_.id;
}

PurgeStatus PurgeDesk::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

std::vector<store::Condition> PurgeDesk::take() {
  std::lock_guard lock(mutex_);
  uint64_t requests = 0;
  (void)!::read(event_.get(), &requests, sizeof requests);
  return std::exchange(where_, {});
}

void PurgeDesk::finish(const Result<PurgeCounts>& result) {
  std::lock_guard lock(mutex_);
  status_.state = result ? PurgeState::kDone : PurgeState::kFailed;
  if (result) status_.counts = *result;
  if (!result) status_.error = result.error().message;
  status_.ended_unix_nano = now_unix_nano();
}

std::string to_json(const PurgeStatus& status) {
  std::string text;
  net::JsonWriter json(text);
  json.begin_object().member("id", status.id).member("state", name_of(status.state));
  if (status.state == PurgeState::kDone) json.key("purged").raw(to_json(status.counts));
  if (status.state == PurgeState::kFailed) json.member("error", status.error);
  if (status.began_unix_nano != 0) json.member("began_unix_nano", status.began_unix_nano);
  if (status.ended_unix_nano != 0) json.member("ended_unix_nano", status.ended_unix_nano);
  json.end_object();
  return text;
}

}  // namespace fathom::query
