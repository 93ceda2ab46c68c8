#include "apps/server/view_workers.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "apps/server/snapshot_worker.h"
#include "base/metrics.h"
#include "base/time.h"

namespace fathom {

namespace {

Gauge& views_open() {
  static Gauge& instance = gauge("fathom_snapshot_views", "Snapshots that are kept open for whoever looks into them.");
  return instance;
}
Counter& views_opened() {
  static Counter& instance =
      counter("fathom_snapshot_views_opened_total", "Snapshots that were opened to be looked into.");
  return instance;
}
Counter& views_closed(std::string_view reason) {
  return counter("fathom_snapshot_views_closed_total", "Open snapshots that were closed.", label("reason", reason));
}

}  // namespace

ViewWorkers::ViewWorkers(ViewWorkersOptions options) : options_(std::move(options)) {
  views_open();
  views_opened();
  for (const char* reason : {"idle", "replaced", "overdue"}) views_closed(reason);
  thread_ = std::thread([this] { run(); });
}

ViewWorkers::~ViewWorkers() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  views_open().add(-static_cast<int64_t>(entries_.size()));
}

size_t ViewWorkers::open() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

// With mutex_ held. The child ends with what is returned, for which nobody else should have to wait.
std::shared_ptr<ViewWorker> ViewWorkers::take_away(Entries::iterator entry, const char* reason) {
  std::shared_ptr<ViewWorker> worker = std::move(entry->second.worker);
  entries_.erase(entry);
  views_open().add(-1);
  views_closed(reason).add();
  return worker;
}

bool ViewWorkers::make_room(std::shared_ptr<ViewWorker>& replaced) {
  if (entries_.size() < options_.most) return true;
  auto oldest = entries_.end();
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (at->second.worker.use_count() > 1) continue;  // somebody asks it
    if (oldest == entries_.end() || at->second.asked_nano < oldest->second.asked_nano) oldest = at;
  }
  if (oldest == entries_.end()) return false;
  replaced = take_away(oldest, "replaced");
  return true;
}

Result<std::shared_ptr<ViewWorker>> ViewWorkers::worker_of(const std::string& directory, const query::SnapshotId& id) {
  std::shared_ptr<ViewWorker> replaced;
  std::lock_guard lock(mutex_);
  auto entry = entries_.find(id);
  if (entry == entries_.end()) {
    if (!make_room(replaced)) {
      return unavailable(
          "people look into " + std::to_string(options_.most) +
          " other snapshots right now, which is as many as the server keeps open; try again in a second");
    }
    std::vector<std::string> command{worker_program(options_.program), "--directory", directory, "view", id.hex()};
    if (options_.is_unsafe) command.insert(command.begin() + 1, kUnsafeWorker);
    entry = entries_.emplace(id, Entry{std::make_shared<ViewWorker>(std::move(command)), 0}).first;
    views_open().add(1);
    views_opened().add();
  }
  entry->second.asked_nano = now_monotonic_nano();
  return entry->second.worker;
}

Result<std::string> ViewWorkers::ask(const std::string& directory, const query::SnapshotId& id, const std::string& line,
                                     store::QueryBudget& budget) {
  auto worker = worker_of(directory, id);
  if (!worker) return worker.error();
  return (*worker)->ask(line, budget);
}

void ViewWorkers::tick() {
  std::vector<std::shared_ptr<ViewWorker>> ended;
  const uint64_t now = now_monotonic_nano();
  std::lock_guard lock(mutex_);
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto entry = at++;
    const bool in_use = entry->second.worker.use_count() > 1;
    const uint64_t due_since = entry->second.worker->abandoned_since_nano();
    if (due_since != 0 && now - due_since >= options_.overdue_nano) {
      ended.push_back(take_away(entry, "overdue"));  // it ends with those who still wait for it
    } else if (!in_use && due_since == 0 && now - entry->second.asked_nano >= options_.idle_nano) {
      ended.push_back(take_away(entry, "idle"));
    }
  }
}

void ViewWorkers::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, std::chrono::nanoseconds(options_.tick_nano));
    if (stopping_) return;
    lock.unlock();
    tick();
    lock.lock();
  }
}

query::LookInto view_workers(ViewWorkersOptions options) {
  auto workers = std::make_shared<ViewWorkers>(std::move(options));
  return [workers](const std::string& directory, const query::SnapshotId& id, const std::string& line,
                   store::QueryBudget& budget) { return workers->ask(directory, id, line, budget); };
}

}  // namespace fathom
