// kill -9 of an event_writer at full speed: what its detail pool must still have, and whether a reader gets it.
//
// Purpose: one crash, from the program's start to a verdict; for tests and benchmarks. Thread safety: none needed, each
// call is by itself. Ownership: the program that it starts is gone when it returns. Errors: kInternal and kNotFound
// when the program cannot be started or has no pool; what the reader does wrong is in the verdict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/programs/event_page.h"
#include "node-agent/detail/detail_reader.h"

namespace fathom::testing {

struct EventCrashPlan {
  std::string program;  // event_writer's path
  uint32_t threads = 2;
  uint32_t signals_us = 0;  // 0: no handlers
  bool spans = false;
  uint32_t pool_mib = 1;
  uint32_t run_us = 1000;       // after each thread's first event
  uint32_t live_snapshots = 0;  // taken before it is killed; nothing in them may be torn or doubled
};

struct EventVerdict {
  uint64_t committed = 0;  // events whose commit is known
  uint64_t found = 0;
  uint64_t overwritten = 0;  // by a later lap
  uint64_t under_way = 0;    // not found, and perhaps never committed
  uint64_t counted = 0;      // lost, as the program says itself
  uint64_t lost = 0;         // committed, not overwritten, not counted, not found
  uint64_t torn = 0;         // found with other bytes than were written
  uint64_t doubled = 0;
  uint64_t holes = 0;

  bool good() const { return lost + torn + doubled == 0; }
  EventVerdict& operator+=(const EventVerdict& other);
  std::string text() const;
};

Result<EventVerdict> crash_event_writer(const EventCrashPlan& plan);

// A plan for crash `number`: all kinds of them by turns, at a random moment.
EventCrashPlan varied_plan(const std::string& program, uint64_t seed, uint32_t number);

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
  Result<agent::DetailFile> open_pool() const;
  void kill();

 private:
  EventProgram(int pid, client::EventPage* page) : pid_(pid), page_(page) {}
  int pid_;
  client::EventPage* page_;
};

}  // namespace fathom::testing
