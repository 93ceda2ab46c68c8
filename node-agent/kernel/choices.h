// Which process was chosen from when until when.
//
// Purpose: process ids are used again. An event carries an id only; it belongs to the process that was chosen under
// this id at that time. Thread safety: none; the recorder's lock. Units: nanoseconds of CLOCK_MONOTONIC. Bounds: the
// most that can be chosen at once, and as many that were; beyond these, the oldest are forgotten, and so are their
// events.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "node-agent/agent/process_life.h"

namespace fathom::agent::kernel {

inline constexpr size_t kMostChosen = 4096;

struct Choice {
  ProcessId process;
  uint64_t begin_nano = 0;
  uint64_t end_nano = UINT64_MAX;  // still chosen
};

// The choices that a snapshot is about.
class ChoiceFilter {
 public:
  void add(const Choice& choice) { by_pid_[choice.process.pid].push_back(choice); }
  // The choice under which an event of this process at this time was recorded; null: it is not wanted.
  const Choice* find(int32_t pid, uint64_t monotonic_nano) const;
  // Those that are still chosen.
  std::vector<ProcessId> current() const;
  // From when on all of them are recorded, until this moment: before it was chosen, nothing is known of a process.
  uint64_t all_from_nano(uint64_t end_nano) const;

 private:
  std::map<int32_t, std::vector<Choice>> by_pid_;
};

class Choices {
 public:
  const Choice* current(pid_t pid) const;
  size_t count() const { return current_.size(); }
  bool full() const { return current_.size() >= kMostChosen; }
  void begin(const ProcessId& process, uint64_t now_nano);
  void end(pid_t pid, uint64_t now_nano);
  std::vector<ProcessId> processes() const;
  // Of these processes; of all when none is named.
  ChoiceFilter filter(std::span<const ProcessId> processes) const;

 private:
  std::map<pid_t, Choice> current_;
  std::deque<Choice> past_;
};

}  // namespace fathom::agent::kernel
