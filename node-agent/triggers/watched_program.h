// WatchedProgram: what is to be known of a program by who looks for triggers, or makes captures of it.
//
// Thread safety: constant; the agent's loop makes a new one when something of it changes. Ownership: shared; of the
// mapping of what is open, and of the pool of events.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "client/pool/layout.h"
#include "node-agent/agent/detail_pool.h"
#include "node-agent/agent/process_life.h"
#include "node-agent/pool/open_area.h"
#include "node-agent/redaction/redaction.h"

namespace fathom::agent {

struct WatchedProgram {
  uint32_t serial = 0;  // counted up by the agent, never used again
  uid_t uid = 0;
  ProcessId process;  // as the host sees it
  pool::Clock clock = pool::Clock::kTsc;
  std::string service_namespace;
  std::string service;
  std::shared_ptr<const OpenArea> open;  // null: it does not say what it has open; or it is over
  std::shared_ptr<DetailPool> detail;    // null: it has written no event yet
  bool ended = false;
  std::shared_ptr<const Redaction> redaction = nullptr;  // applied to what is read of the program; null: no rules
};

}  // namespace fathom::agent
