#include "apps/server/purge_run.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "cli/sizes.h"
#include "query/purge/purge_data.h"

namespace fathom {

namespace {

constexpr uint64_t kLookNano = 10 * kNanosPerSecond;

store::Findings::Progress progress_in_log() {
  return [next = now_monotonic_nano() + kLookNano](uint64_t done, uint64_t total) mutable {
    if (total == 0 || now_monotonic_nano() < next) return;
    next = now_monotonic_nano() + kLookNano;
    log_info("purge: " + std::to_string(done * 100 / total) + " % of " + cli::format_size(total));
  };
}

void log_outcome(const Result<query::PurgeCounts>& result) {
  if (!result) return log_error("the purge failed: " + result.error().message);
  log_info("purged traces=" + std::to_string(result->traces) + " spans=" + std::to_string(result->spans) +
           " captures=" + std::to_string(result->captures) + " snapshots=" + std::to_string(result->snapshots));
}

}  // namespace

PurgeRun run_purge(query::PurgeDesk& desk, const std::string& data, cli::Signals& signals) {
  PurgeRun run;
  std::atomic<bool> is_cancelled{false};
  Fd ended(::eventfd(0, EFD_CLOEXEC));
  if (!ended.open()) std::abort();  // the process has no descriptor left, and its server is stopped
  query::DataPurge purge{.directory = data, .where = desk.take()};
  purge.is_cancelled = [&] { return is_cancelled.load(); };
  log_info("purging; spans are taken again when it is done");
  std::thread worker([&] {
    const Result<query::PurgeCounts> result = query::purge_data(purge, progress_in_log());
    log_outcome(result);
    desk.finish(result);
    const uint64_t one = 1;
    (void)!::write(ended.get(), &one, sizeof one);
  });
  while (true) {
    const cli::Signals::Wakeup wakeup = signals.wait(ended.get(), UINT64_MAX);
    if (wakeup.stop) is_cancelled = true;
    run.is_reload_asked |= wakeup.reload;
    if (wakeup.readable) break;
  }
  worker.join();
  run.is_stopped = is_cancelled;
  return run;
}

}  // namespace fathom
