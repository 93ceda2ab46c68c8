// kill -9 of an event_writer at full speed: what its detail pool must still have, and whether a reader gets it.
//
// Purpose: one crash, from the program's start to a verdict; for tests and benchmarks. Thread safety: none needed, each
// call is by itself. Ownership: the program that it starts is gone when it returns. Errors: kInternal and kNotFound
// when the program cannot be started or has no pool; what the reader does wrong is in the verdict.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/programs/event_page.h"
#include "node-agent/detail/detail_reader.h"
#include "tests/testing/event_verdict.h"

namespace fathom::testing {

struct EventCrashPlan {
  std::string program;  // event_writer's path
  uint32_t threads = 2;
  uint32_t signals_us = 0;  // 0: no handlers
  bool spans = false;
  uint32_t pool_mib = 1;
  uint32_t run_us = 1000;       // after each thread's first event
  uint64_t least_events = 0;    // of each thread, however long that takes
  uint32_t live_snapshots = 0;  // taken before it is killed; nothing in them may be torn or doubled
  // For those who check the checkers. The program leaves out each N-th event; what the reader found is changed, or what
  // the pool says of it.
  uint64_t forget_every = 0;
  std::function<void(agent::DetailSnapshot&, const agent::DetailFile&)> sabotage;
};

Result<EventVerdict> crash_event_writer(const EventCrashPlan& plan);

// A plan for crash `number`: all kinds of them by turns, at a random moment.
EventCrashPlan varied_plan(const std::string& program, uint64_t seed, uint32_t number);

struct Unmapped {
  size_t bytes = 0;
  void operator()(client::EventPage* page) const;
};
using EventPagePointer = std::unique_ptr<client::EventPage, Unmapped>;

// For tests of their own: a program that has a detail pool.
class EventProgram {
 public:
  static Result<EventProgram> start(const EventCrashPlan& plan, const std::vector<std::string>& flags);
  EventProgram(EventProgram&& other) noexcept;
  EventProgram& operator=(EventProgram&&) = delete;
  ~EventProgram();

  const client::EventPage& page() const { return *page_; }
  // Waits until so many threads are ready; false: it ended, or a minute is over.
  bool await_ready(uint64_t threads) const;
  // The same for so many events of each of the first threads.
  bool await_events(uint32_t threads, uint64_t events) const;
  Result<agent::DetailFile> open_pool() const;
  void kill();

 private:
  EventProgram(int pid, EventPagePointer page) : pid_(pid), page_(std::move(page)) {}
  bool await(const std::function<bool()>& condition) const;

  int pid_;
  EventPagePointer page_;
};

}  // namespace fathom::testing
