// NodeLosses: what one node's agent says was lost there, as growth: for /metrics, and for the log.
//
// Purpose: an agent reports its counts again and again, each since it was started. What a report has more than those
// before it is added to fathom_lost_on_nodes_total{kind,reason}, and said in the log, once a minute at most. Reasons
// that this collector does not know are one, "other": agents make no series. A server that was restarted counts what
// living agents say anew. Thread safety: none; the registry's lock. Ownership: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "ingest/stream.h"

namespace fathom::collector {

class NodeLosses {
 public:
  using Said = std::vector<std::pair<std::string, uint64_t>>;  // reason, count since the agent was started
  static constexpr size_t kReasons = 33;
  static constexpr uint64_t kRemarkPauseNano = 60 * kNanosPerSecond;

  static void list_metrics();  // at 0, before anything happens

  // A stream of the agent that has this instance id; another one's counts begin at 0.
  void begin(const ingest::InstanceId& instance);
  void take(const Said& said);
  // "pool_full 1200, refused 3": what was lost since the last remark; nothing when that is nothing, or when the last
  // one was just now.
  std::optional<std::string> remark(uint64_t now_unix_nano);

 private:
  using Counts = std::array<uint64_t, kReasons>;
  bool may_remark(uint64_t now_unix_nano) const;

  ingest::InstanceId instance_;
  Counts said_{};  // by this instance; never less than before
  Counts unremarked_{};
  std::optional<uint64_t> remarked_unix_nano_;
};

}  // namespace fathom::collector
