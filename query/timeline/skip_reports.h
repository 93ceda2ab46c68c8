// SkipReports: agents' reports of a trace's skipped captures, and the report that applies to a process.
//
// Rules: a report has the node's id and the node's process id. If the process's node is known, reports of exactly
// this process apply, else those of its node without a process, which the collector makes. Otherwise names
// decide, because a container has its own. A report of a process whose node is known never applies. One with the
// same service and process id applies, unless the process's host is another known node. One with only the same
// service applies if the host is no known node, or the service has one process in the trace. Of equal matches,
// reports of `slow`, `overdue` and `error` win, then the latest. Thread safety: plain values. Work is charged to
// `meter`.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "query/nodes.h"
#include "query/timeline/meter.h"
#include "query/timeline/timeline.h"
#include "store/capture.h"

namespace fathom::query {

class SkipReports {
 public:
  // `reports`: by time. `processes`: all of the timeline. `nodes`: all that are known.
  SkipReports(std::vector<store::SkippedCapture> reports, const std::vector<TimelineProcess>& processes,
              const std::vector<NodeRow>& nodes);

  // Null: none applies. `has_client`: the process uses fathom's client, so a report with only its service may apply.
  const store::SkippedCapture* find(const TimelineProcess& process, bool has_client, Meter& meter) const;

 private:
  enum class Fit { kNone, kService, kNode, kProcess, kHost, kExact };
  using Key = std::pair<store::NodeId, uint32_t>;

  Fit fit_of(const store::SkippedCapture& report, const TimelineProcess& process) const;
  Fit fit_by_names(const store::SkippedCapture& report, const TimelineProcess& process) const;

  const std::vector<store::SkippedCapture> reports_;
  std::set<Key> named_;                       // processes whose nodes are known
  std::set<std::string, std::less<>> hosts_;  // of known nodes
  std::map<std::string, size_t> processes_;   // number of processes by service
};

}  // namespace fathom::query
