// The numbers and names that Perfetto's page knows processes, threads and processors by.
//
// Purpose: that page knows one machine. Where a trace has several nodes, the numbers of the first stay what they are,
// and those of the others are moved so that none meets another's; names say the node. Thread safety: a plain value.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "query/timeline/timeline.h"

namespace fathom::query {

class PerfettoNames {
 public:
  explicit PerfettoNames(const Timeline& timeline);

  int32_t pid_of(const TimelineProcess& process) const { return tid_of(process, process.pid); }
  int32_t tid_of(const TimelineProcess& process, uint32_t tid) const;
  uint32_t cpu_of(const TimelineProcess& process, uint16_t cpu) const;
  // "checkout (pid 4711 on shop-1)"
  std::string process_name(const TimelineProcess& process) const;
  // Empty: not known. As long as this.
  std::string_view thread_name(const TimelineProcess& process, uint32_t tid) const;

 private:
  struct Node {
    uint32_t number = 0;
    uint32_t first_cpu = 0;
  };
  static std::string node_key(const TimelineProcess& process);

  std::map<std::string, Node> nodes_;
  std::map<std::pair<std::string, uint32_t>, std::string> thread_names_;
};

// What is no UTF-8 as U+FFFD.
std::string utf8(std::string_view text);
std::string hex_number(uint64_t number);
std::string call_name(int32_t number);  // "futex", or "system call 999"

}  // namespace fathom::query
