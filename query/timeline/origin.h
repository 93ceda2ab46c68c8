// Origin: the program that a span comes from, according to its resource.
//
// Rules: if an agent added the process and the node (base/process_attributes.h), these decide alone. Otherwise only the
// program's own names are known; in a container these are not the node's. Thread safety: plain values. Hostility: a
// sender may write any value; values that are no process id or node id are ignored.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "store/capture.h"
#include "store/span.h"

namespace fathom::query {

struct Origin {
  std::string service;
  std::string host;
  std::string pid;
  std::string instance;
  store::NodeId node_id = {};  // added by the agent, as node_pid is; zero: not known
  uint32_t node_pid = 0;
  auto operator<=>(const Origin&) const = default;

  bool names_process() const { return !node_id.is_zero() && node_pid != 0; }
};

Origin origin_of(const store::StoredSpan& stored);

// Converts a process or thread id, which the kernel makes positive; 0: the value is none.
uint32_t kernel_id_of(const store::ValueView& value);

}  // namespace fathom::query
