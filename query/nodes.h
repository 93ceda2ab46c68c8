// The agents that stand behind the spans, as the query face shows them; who knows them is not its business.
//
// Purpose: GET /api/v1/nodes without a word about the collector; the program wires the two. Thread safety: a NodeSource
// is called from any thread. Units: in names.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/span.h"

namespace fathom::query {

struct NodeRow {
  std::string node_id;  // hexadecimal
  std::string host_name;
  std::string agent_version;
  bool connected = false;
  uint64_t first_seen_unix_nano = 0;
  uint64_t last_seen_unix_nano = 0;
  uint64_t agent_since_unix_nano = 0;  // when this server first saw this run of the agent; 0: unknown
  std::optional<ClockOffset> clock;
  uint64_t clock_measured_unix_nano = 0;  // by the node's own clock
  uint64_t programs = 0;
  bool captures_off = false;
  bool reports_skipped_captures = false;
  uint64_t slowest_period_nano = 0;  // the agent captures the slowest requests of each such period; 0: unknown
  uint64_t acknowledged_spans = 0;
  uint64_t spool_bytes = 0;
  uint64_t spool_limit_bytes = 0;
  uint64_t resident_bytes = 0;
  std::vector<std::pair<std::string, uint64_t>> losses;  // reason, count
};

using NodeSource = std::function<std::vector<NodeRow>()>;

// {"nodes":[...]}, as docs/api.md has it.
std::string nodes_json(const std::vector<NodeRow>& nodes);

}  // namespace fathom::query
