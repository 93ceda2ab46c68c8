// Origin: which running program a span comes from, as far as its resource says.
//
// Rules: its agent says which process of which node it is (base/process_attributes.h): then no other word counts. Else
// there are only the names that the program has for itself: in a container these are not the node's. Thread safety:
// plain values. Hostility: whoever sends spans may say anything; what is no process id, and no node's id, names none.
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
  store::NodeId node_id = {};  // these two as the agent says; zeros: it does not
  uint32_t node_pid = 0;
  auto operator<=>(const Origin&) const = default;

  bool names_process() const { return !node_id.is_zero() && node_pid != 0; }
};

Origin origin_of(const store::StoredSpan& stored);

// A process or thread id of the kernel, which are positive; 0: it is none.
uint32_t kernel_id_of(const store::ValueView& value);

}  // namespace fathom::query
