// SkipReports: what agents reported of a trace's captures that they skipped, and which report a process has.
//
// Rules: a report names the node and the process by the node's numbers. A process whose node is known has the reports
// of exactly this process; else those of its node that name no process, which are the collector's. Of a process whose
// node is not known only names can be compared, and a container has its own: a report of the same service and process
// id, or of the same service alone, counts unless it is another process's, or the process's host is another known node.
// Of the same service alone it counts only where the host is the name of no known node, or the trace has one process of
// the service. Of several as good: what triggered on the process itself comes before what other nodes or the program
// asked for, and then the last one. Thread safety: plain values. What it takes is told to `meter`.
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
  // By time. `processes` and `nodes`: all of the timeline, and all that are known.
  SkipReports(std::vector<store::SkippedCapture> reports, const std::vector<TimelineProcess>& processes,
              const std::vector<NodeRow>& nodes);

  // Null: there is none. `has_client`: a report that agrees in less than the process id can be of it.
  const store::SkippedCapture* find(const TimelineProcess& process, bool has_client, Meter& meter) const;

 private:
  enum class Fit { kNone, kService, kNode, kProcess, kHost, kExact };
  using Key = std::pair<store::NodeId, uint32_t>;

  Fit fit_of(const store::SkippedCapture& report, const TimelineProcess& process) const;
  Fit fit_by_names(const store::SkippedCapture& report, const TimelineProcess& process) const;

  const std::vector<store::SkippedCapture> reports_;
  std::set<Key> named_;                       // processes whose nodes are known
  std::set<std::string, std::less<>> hosts_;  // of known nodes
  std::map<std::string, size_t> processes_;   // of each service, how many
};

}  // namespace fathom::query
