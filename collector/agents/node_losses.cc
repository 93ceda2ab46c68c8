#include "collector/agents/node_losses.h"

#include <algorithm>

#include "base/metrics.h"

namespace fathom::collector {

namespace {

struct Reason {
  std::string_view name;  // as agents say it; docs/node-agent.md has them
  std::string_view kind;  // of what is counted
};
constexpr std::array<Reason, NodeLosses::kReasons> kKnown = {{
    {"pool_full", "spans"},
    {"pool_not_ready", "spans"},
    {"malformed_span", "spans"},
    {"unknown_type", "spans"},
    {"unfinished", "spans"},
    {"ended_program", "spans"},
    {"refused", "spans"},
    {"spool_damaged", "spans"},
    {"attributes_too_large", "details"},
    {"details_too_large", "details"},
    {"value_cut", "details"},
    {"malformed_item", "details"},
    {"unknown", "details"},
    {"abandoned_batch", "batches"},
    {"taken_over_pool", "pools"},
    {"endless_pool", "pools"},
    {"no_room_pool", "pools"},
    {"detail_ended_program", "pools"},
    {"event_no_chunk", "events"},
    {"event_pool_not_ready", "events"},
    {"event_discarded", "events"},
    {"event_text_cut", "events"},
    {"event_tracepoints", "events"},
    {"event_unknown", "events"},
    {"capture_refused", "captures"},
    {"capture_no_room", "captures"},
    {"capture_not_taken", "captures"},
    {"capture_unsent", "captures"},
    {"snapshot_spool_full", "snapshots"},
    {"snapshot_refused", "snapshots"},
    {"snapshot_damaged", "snapshots"},
    {"wild_count", "counts"},
    {"other", "other"},
}};

size_t reason_index(std::string_view name) {
  auto found = std::find_if(kKnown.begin(), kKnown.end(), [&](const Reason& reason) { return reason.name == name; });
  return static_cast<size_t>(std::min(found, kKnown.end() - 1) - kKnown.begin());
}

using Series = std::array<Counter*, NodeLosses::kReasons>;

const Series& series() {
  static const Series kAll = [] {
    Series made;
    for (size_t i = 0; i < made.size(); ++i) {
      made[i] = &counter("fathom_lost_on_nodes_total", "What agents say was lost on their nodes",
                         label("kind", kKnown[i].kind) + "," + label("reason", kKnown[i].name));
    }
    return made;
  }();
  return kAll;
}

uint64_t sum(uint64_t a, uint64_t b) {
  return a + std::min(b, UINT64_MAX - a);
}

}  // namespace

void NodeLosses::list_metrics() {
  series();
}

void NodeLosses::begin(const ingest::InstanceId& instance) {
  if (instance == instance_) return;
  instance_ = instance;
  said_ = {};
}

void NodeLosses::take(const Said& said) {
  Counts now{};
  for (const auto& [name, count] : said) {
    uint64_t& of_reason = now[reason_index(name)];
    of_reason = sum(of_reason, count);
  }
  for (size_t i = 0; i < kReasons; ++i) {
    uint64_t grown = now[i] - std::min(now[i], said_[i]);
    said_[i] += grown;
    unremarked_[i] = sum(unremarked_[i], grown);
    series()[i]->add(grown);
  }
}

std::optional<std::string> NodeLosses::remark(uint64_t now_unix_nano) {
  if (!may_remark(now_unix_nano)) return std::nullopt;
  std::string text;
  for (size_t i = 0; i < kReasons; ++i) {
    if (unremarked_[i] == 0) continue;
    if (!text.empty()) text += ", ";
    text.append(kKnown[i].name).append(" ").append(std::to_string(unremarked_[i]));
  }
  if (text.empty()) return std::nullopt;
  unremarked_ = {};
  remarked_unix_nano_ = now_unix_nano;
  return text;
}

// A clock that was set back must not silence a node.
bool NodeLosses::may_remark(uint64_t now_unix_nano) const {
  return !remarked_unix_nano_ || now_unix_nano < *remarked_unix_nano_ ||
         now_unix_nano - *remarked_unix_nano_ >= kRemarkPauseNano;
}

}  // namespace fathom::collector
