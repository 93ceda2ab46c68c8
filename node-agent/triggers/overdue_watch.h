// OverdueWatch: the thread that sees spans which take too long while they still run.
//
// Purpose: the agent's loop may be busy for some milliseconds; who wants to know what a span does now cannot wait for
// it. The thread runs first where the host lets it (base/thread_priority.h), and calls the sink, which takes the copy
// of the events there and then. Thread safety: set(), remove() and set_thresholds() from any thread; they do not wait
// for a round. The sink is called on the watch's thread. Ownership: `clock` and `sink` must outlive it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "node-agent/triggers/watch_round.h"

namespace fathom::agent {

class OverdueWatch {
 public:
  OverdueWatch(ClockSource& clock, TriggerSink& sink, const WatchPace& pace);
  ~OverdueWatch();  // waits for the round under way

  void set(std::shared_ptr<const WatchedProgram> program);
  void remove(uint32_t serial);
  void look_last(std::shared_ptr<const WatchedProgram> program);  // WatchRound's
  void set_thresholds(std::shared_ptr<const Thresholds> thresholds);

 private:
  struct News {
    std::map<uint32_t, std::shared_ptr<const WatchedProgram>> programs;  // null: gone
    std::vector<std::shared_ptr<const WatchedProgram>> ended;
    std::shared_ptr<const Thresholds> thresholds;  // null: as they were
    bool empty() const { return programs.empty() && ended.empty() && thresholds == nullptr; }
  };
  void run();
  void apply(News news);
  void tell(uint32_t serial, std::shared_ptr<const WatchedProgram> program);

  WatchRound round_;  // of the thread
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  News news_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace fathom::agent
