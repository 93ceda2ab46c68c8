// ThreadTable: the threads of a capture while it is made, by the node's numbers.
//
// Thread safety: none. Ownership: of the threads, until take(). Bounds: most_threads; there is no thread for further
// ones, and what belongs to them is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/capture.h"
#include "node-agent/capture/living_threads.h"

namespace fathom::agent {

class ThreadTable {
 public:
  using Identify = std::function<ThreadIdentity(uint32_t program_tid)>;

  ThreadTable(Identify identify, size_t most_threads) : identify_(std::move(identify)), most_threads_(most_threads) {}

  // Null: there are too many. Valid until the next call.
  capture::Thread* of_program(uint32_t program_tid);
  capture::Thread* of_node(uint32_t node_tid);
  std::vector<capture::Thread>& all() { return threads_; }
  // Those of which there is anything, by tid; the table is empty then. `has_events`: events are written already.
  std::vector<capture::Thread> take(const std::function<bool(uint32_t node_tid)>& has_events);

 private:
  static constexpr size_t kNone = SIZE_MAX;

  size_t index_of(uint32_t node_tid);
  capture::Thread* at(size_t index) { return index == kNone ? nullptr : &threads_[index]; }

  const Identify identify_;
  const size_t most_threads_;
  std::vector<capture::Thread> threads_;
  std::unordered_map<uint32_t, size_t> by_node_tid_;
  std::unordered_map<uint32_t, size_t> by_program_tid_;
};

}  // namespace fathom::agent
