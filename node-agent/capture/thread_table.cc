#include "node-agent/capture/thread_table.h"

#include <algorithm>
#include <utility>

namespace fathom::agent {

size_t ThreadTable::index_of(uint32_t node_tid) {
  auto found = by_node_tid_.find(node_tid);
  if (found != by_node_tid_.end()) return found->second;
  if (threads_.size() >= most_threads_) return kNone;
  threads_.push_back({.tid = node_tid});
  return by_node_tid_[node_tid] = threads_.size() - 1;
}

capture::Thread* ThreadTable::of_program(uint32_t program_tid) {
  auto found = by_program_tid_.find(program_tid);
  if (found != by_program_tid_.end()) return at(found->second);
  // Who is not to be had is not asked for again and again either; nor are all of four thousand million remembered.
  if (by_program_tid_.size() >= most_threads_) return nullptr;
  ThreadIdentity identity = identify_ ? identify_(program_tid) : ThreadIdentity{program_tid, {}};
  size_t index = index_of(identity.node_tid);
  by_program_tid_[program_tid] = index;
  if (index != kNone && threads_[index].name.empty()) threads_[index].name = std::move(identity.name);
  return at(index);
}

capture::Thread* ThreadTable::of_node(uint32_t node_tid) {
  return at(index_of(node_tid));
}

std::vector<capture::Thread> ThreadTable::take(const std::function<bool(uint32_t node_tid)>& has_events) {
  by_node_tid_.clear();
  by_program_tid_.clear();
  std::erase_if(threads_, [&](const capture::Thread& thread) {
    return thread.open.empty() && thread.kernel_events.empty() && !has_events(thread.tid);
  });
  std::ranges::sort(threads_, {}, &capture::Thread::tid);
  return std::move(threads_);
}

}  // namespace fathom::agent
