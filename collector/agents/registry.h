// NodeRegistry: the agents that this collector has heard of: who they are, when, and what they say of themselves.
//
// Purpose: `fathom nodes`; and that of several streams of one node the newest counts, because an agent that comes back
// must not wait until its old connection is noticed to be dead. What agents lose is counted and logged here, too
// (node_losses.h). Kept in memory: agents that live are back within seconds of a restart. Thread safety: all of it.
// Ownership: holds `replaced` until its stream is detached or replaced. Bounds: `max_nodes`; beyond it the longest
// silent one that is not connected is forgotten, and where all are connected a new one is not listed; both are counted
// in fathom_lost_nodes_total{reason}. Silent for `forget_after_nano`: forgotten.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "collector/agents/node_losses.h"
#include "ingest/stream.h"

namespace fathom::collector {

using ingest::NodeId;

struct Node {
  NodeId node_id;
  std::string host_name;
  std::string agent_version;
  uint64_t first_seen_unix_nano = 0;  // by this collector since it was started
  uint64_t last_seen_unix_nano = 0;
  uint64_t agent_since_unix_nano = 0;  // when this collector first saw this run of the agent
  bool connected = false;
  // From the last Hello.
  bool captures_off = false;
  bool reports_skipped_captures = false;
  uint64_t slowest_period_nano = 0;
  ingest::NodeStatus report;  // the last one
};

struct RegistryOptions {
  size_t max_nodes = 4096;
  uint64_t forget_after_nano = 24 * kNanosPerHour;
};

class NodeRegistry {
 public:
  using Replaced = std::function<void()>;

  // `now_nano` decides which nodes are silent: no one can step it.
  explicit NodeRegistry(RegistryOptions options = {}, std::function<uint64_t()> now_unix_nano = fathom::now_unix_nano,
                        std::function<uint64_t()> now_nano = now_boottime_nano);

  // A stream of this node; the number names it in the calls below. The stream that the node had before is told by its
  // `replaced`, on this thread, and its number means nothing from then on.
  uint64_t attach(const ingest::Hello& hello, Replaced replaced);
  void detach(uint64_t stream);
  void heard(uint64_t stream);
  void heard(uint64_t stream, ingest::NodeStatus report);

  std::vector<Node> nodes();  // by host name, then id

 private:
  struct Entry {
    Node node;
    uint64_t seen_nano = 0;  // by `now_nano_`
    uint64_t stream = 0;     // 0: none
    Replaced replaced;
    ingest::InstanceId instance;
    NodeLosses losses;
  };
  using Entries = std::map<NodeId, Entry>;

  Entry* entry_of(uint64_t stream);
  Entry* find_or_make(const NodeId& id, uint64_t now);
  bool make_room();
  void forget_silent();
  void see(Entry& entry) const;
  void note_run(Entry& entry, const ingest::InstanceId& instance) const;
  void count_connected();

  const RegistryOptions options_;
  const std::function<uint64_t()> now_unix_nano_;
  const std::function<uint64_t()> now_nano_;
  std::mutex mutex_;
  uint64_t next_stream_ = 1;
  Entries entries_;
  std::unordered_map<uint64_t, NodeId> streams_;
};

}  // namespace fathom::collector
