#include "collector/agents/registry.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/metrics.h"

namespace fathom::collector {

namespace {

Counter& lost_nodes(std::string_view reason) {
  return counter("fathom_lost_nodes_total", "Agents that the list of nodes had no room for", label("reason", reason));
}

// A stranger's word must not make lines in the log.
std::string for_log(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c <= ' ' || c > '~'; }, '?');
  return name;
}

}  // namespace

NodeRegistry::NodeRegistry(RegistryOptions options, std::function<uint64_t()> now_unix_nano,
                           std::function<uint64_t()> now_nano)
    : options_(options), now_unix_nano_(std::move(now_unix_nano)), now_nano_(std::move(now_nano)) {
  lost_nodes("forgotten");
  lost_nodes("not_listed");
  gauge("fathom_nodes_connected", "Agents whose stream is open");
  NodeLosses::list_metrics();
}

uint64_t NodeRegistry::attach(const ingest::Hello& hello, Replaced replaced) {
  Replaced before;
  uint64_t stream = 0;
  {
    std::lock_guard lock(mutex_);
    stream = next_stream_++;
    forget_silent();
    Entry* entry = find_or_make(hello.node_id, now_unix_nano_());
    if (entry == nullptr) return stream;
    streams_.erase(entry->stream);
    streams_[stream] = hello.node_id;
    entry->stream = stream;
    before = std::exchange(entry->replaced, std::move(replaced));
    entry->node.host_name = hello.host_name;
    entry->node.agent_version = hello.agent_version;
    entry->node.captures_off = hello.captures_off;
    entry->node.reports_skipped_captures = hello.reports_skipped_captures;
    entry->node.slowest_period_nano = hello.slowest_period_nano;
    see(*entry);
    entry->node.connected = true;
    note_run(*entry, hello.instance_id);
    entry->losses.begin(hello.instance_id);
    count_connected();
  }
  if (before) before();
  return stream;
}

NodeRegistry::Entry* NodeRegistry::find_or_make(const NodeId& id, uint64_t now) {
  auto found = entries_.find(id);
  if (found != entries_.end()) return &found->second;
  if (!make_room()) {
    lost_nodes("not_listed").add();
    return nullptr;
  }
  Entry& entry = entries_[id];
  entry.node.node_id = id;
  entry.node.first_seen_unix_nano = now;
  return &entry;
}

bool NodeRegistry::make_room() {
  if (entries_.size() < options_.max_nodes) return true;
  auto silent = entries_.end();
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (at->second.node.connected) continue;
    if (silent == entries_.end() || at->second.seen_nano < silent->second.seen_nano) silent = at;
  }
  if (silent == entries_.end()) return false;
  entries_.erase(silent);
  lost_nodes("forgotten").add();
  return true;
}

void NodeRegistry::forget_silent() {
  const uint64_t now = now_nano_();
  std::erase_if(entries_, [&](const auto& item) {
    return !item.second.node.connected && item.second.seen_nano + options_.forget_after_nano < now;
  });
}

void NodeRegistry::see(Entry& entry) const {
  entry.node.last_seen_unix_nano = now_unix_nano_();
  entry.seen_nano = now_nano_();
}

// A reconnected agent keeps its start time, because its instance id stays the same.
void NodeRegistry::note_run(Entry& entry, const ingest::InstanceId& instance) const {
  const bool is_known = entry.node.agent_since_unix_nano != 0 && entry.instance == instance;
  if (!is_known) entry.node.agent_since_unix_nano = now_unix_nano_();
  entry.instance = instance;
}

void NodeRegistry::detach(uint64_t stream) {
  std::lock_guard lock(mutex_);
  Entry* entry = entry_of(stream);
  if (entry == nullptr) return;
  streams_.erase(stream);
  entry->stream = 0;
  entry->replaced = nullptr;
  entry->node.connected = false;
  see(*entry);
  count_connected();
}

void NodeRegistry::heard(uint64_t stream) {
  std::lock_guard lock(mutex_);
  if (Entry* entry = entry_of(stream)) see(*entry);
}

void NodeRegistry::heard(uint64_t stream, ingest::NodeStatus report) {
  std::optional<std::string> lost;
  Node node;  // for the log, which need not be written while others wait
  {
    std::lock_guard lock(mutex_);
    Entry* entry = entry_of(stream);
    if (entry == nullptr) return;
    see(*entry);
    entry->losses.take(report.losses);
    lost = entry->losses.remark(entry->node.last_seen_unix_nano);
    entry->node.report = std::move(report);
    if (lost) node = entry->node;
  }
  if (lost) log_warning("node " + for_log(node.host_name) + " (" + node.node_id.hex() + ") lost " + *lost);
}

std::vector<Node> NodeRegistry::nodes() {
  std::vector<Node> nodes;
  {
    std::lock_guard lock(mutex_);
    forget_silent();
    for (const auto& [id, entry] : entries_) nodes.push_back(entry.node);
  }
  std::stable_sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.host_name < b.host_name; });
  return nodes;
}

NodeRegistry::Entry* NodeRegistry::entry_of(uint64_t stream) {
  auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : &entries_.at(found->second);
}

void NodeRegistry::count_connected() {
  static Gauge& connected = gauge("fathom_nodes_connected", "Agents whose stream is open");
  connected.set(static_cast<int64_t>(streams_.size()));
}

}  // namespace fathom::collector
