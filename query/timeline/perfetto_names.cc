#include "query/timeline/perfetto_names.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "query/timeline/syscall_names.h"

namespace fathom::query {

namespace {

constexpr uint32_t kMostPids = 1 << 22;  // of Linux
constexpr uint32_t kMostNodes = INT32_MAX / kMostPids;

}  // namespace

std::string PerfettoNames::node_key(const TimelineProcess& process) {
  return process.node_id.is_zero() ? "host " + process.host_name : process.node_id.hex();
}

PerfettoNames::PerfettoNames(const Timeline& timeline) {
  std::map<std::string, uint32_t> processors;
  for (const auto& process : timeline.processes) {
    std::string key = node_key(process);
    nodes_.try_emplace(key, Node{static_cast<uint32_t>(nodes_.size()), 0});
    for (const auto& thread : process.threads) {
      if (!thread.name.empty()) thread_names_[{key, thread.tid}] = utf8(thread.name);
      for (const auto& state : thread.states) {
        for (const capture::KernelEvent* event : {state.interval.start, state.interval.waker}) {
          if (event != nullptr) processors[key] = std::max(processors[key], uint32_t{event->cpu} + 1);
        }
      }
    }
  }
  uint32_t next = 0;
  for (const auto& process : timeline.processes) {
    auto count = processors.extract(node_key(process));
    if (count.empty()) continue;
    nodes_[count.key()].first_cpu = next;
    next += count.mapped();
  }
}

int32_t PerfettoNames::tid_of(const TimelineProcess& process, uint32_t tid) const {
  uint32_t number = nodes_.at(node_key(process)).number % kMostNodes;
  return static_cast<int32_t>(tid == 0 ? 0 : number * kMostPids + tid % kMostPids);
}

uint32_t PerfettoNames::cpu_of(const TimelineProcess& process, uint16_t cpu) const {
  return nodes_.at(node_key(process)).first_cpu + cpu;
}

std::string PerfettoNames::process_name(const TimelineProcess& process) const {
  std::string name = utf8(process.service) + " (pid " + std::to_string(process.pid);
  return name + (process.host_name.empty() ? ")" : " on " + utf8(process.host_name) + ")");
}

std::string_view PerfettoNames::thread_name(const TimelineProcess& process, uint32_t tid) const {
  auto found = thread_names_.find({node_key(process), tid});
  return found == thread_names_.end() ? std::string_view() : found->second;
}

std::string utf8(std::string_view text) {
  return is_utf8(text) ? std::string(text) : repair_utf8(text);
}

std::string hex_number(uint64_t number) {
  char digits[16];
  auto end = std::to_chars(digits, digits + sizeof digits, number, 16).ptr;
  return {digits, end};
}

std::string call_name(int32_t number) {
  std::string_view name = syscall_name(number);
  return name.empty() ? "system call " + std::to_string(number) : std::string(name);
}

}  // namespace fathom::query
