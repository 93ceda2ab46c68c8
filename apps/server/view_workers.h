// ViewWorkers: the snapshots that people look into, each kept open by a fathom-worker of its own.
//
// Purpose: the first ask about a snapshot starts a worker, which decodes it; the next ones are answered in
// milliseconds. There are a few at once: another one takes the place of the one that was asked longest ago. One that
// nobody has asked for a while ends, and so does one that owes an answer for too long. Thread safety: all of it.
// Ownership: all children end with this. Errors: as ViewWorker's; kUnavailable while each of them has somebody who
// waits. Metrics: fathom_snapshot_views.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "apps/server/view_worker.h"

namespace fathom {

struct ViewWorkersOptions {
  std::string program;     // empty: fathom-worker beside our own executable
  bool is_unsafe = false;  // it also decodes where it cannot be confined
  size_t most = 3;
  uint64_t idle_nano = 300 * kNanosPerSecond;
  uint64_t overdue_nano = 600 * kNanosPerSecond;
  uint64_t tick_nano = 5 * kNanosPerSecond;
};

class ViewWorkers {
 public:
  explicit ViewWorkers(ViewWorkersOptions options);
  ~ViewWorkers();

  Result<std::string> ask(const std::string& directory, const query::SnapshotId& id, const std::string& line,
                          store::QueryBudget& budget);
  size_t open() const;

 private:
  struct Entry {
    std::shared_ptr<ViewWorker> worker;
    uint64_t asked_nano = 0;
  };
  using Entries = std::map<query::SnapshotId, Entry>;

  Result<std::shared_ptr<ViewWorker>> worker_of(const std::string& directory, const query::SnapshotId& id);
  std::shared_ptr<ViewWorker> take_away(Entries::iterator entry, const char* reason);
  bool make_room(std::shared_ptr<ViewWorker>& replaced);
  void run();
  void tick();

  const ViewWorkersOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Entries entries_;
  bool stopping_ = false;
  std::thread thread_;
};

// As the server's snapshots want it; the children end with the last copy.
query::LookInto view_workers(ViewWorkersOptions options);

}  // namespace fathom
