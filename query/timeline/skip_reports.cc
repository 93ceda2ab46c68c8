#include "query/timeline/skip_reports.h"

namespace fathom::query {

namespace {

using store::SkippedCapture;

// Reports with other triggers (of another node, a user or the program) say less about the process's own request.
bool is_by_itself(CaptureTrigger trigger) {
  return trigger == CaptureTrigger::kSlow || trigger == CaptureTrigger::kOverdue || trigger == CaptureTrigger::kError;
}

bool names_no_process(const SkippedCapture& report) {
  return report.pid == 0 && report.service.empty();
}

}  // namespace

SkipReports::SkipReports(std::vector<SkippedCapture> reports, const std::vector<TimelineProcess>& processes,
                         const std::vector<NodeRow>& nodes)
    : reports_(std::move(reports)) {
  for (const TimelineProcess& process : processes) {
    if (!process.node_id.is_zero()) named_.emplace(process.node_id, process.pid);
    ++processes_[process.service];
  }
  for (const NodeRow& node : nodes) hosts_.insert(node.host_name);
}

const SkippedCapture* SkipReports::find(const TimelineProcess& process, bool has_client, Meter& meter) const {
  if (!meter.step(reports_.size())) return nullptr;
  const SkippedCapture* best = nullptr;
  auto least = std::pair(has_client ? Fit::kService : Fit::kProcess, false);
  for (const SkippedCapture& report : reports_) {
    const auto rank = std::pair(fit_of(report, process), is_by_itself(report.trigger));
    if (rank < least) continue;
    least = rank;
    best = &report;
  }
  return best;
}

SkipReports::Fit SkipReports::fit_of(const SkippedCapture& report, const TimelineProcess& process) const {
  if (process.node_id.is_zero()) return fit_by_names(report, process);
  if (report.node_id != process.node_id) return Fit::kNone;
  if (names_no_process(report)) return Fit::kNode;
  return report.pid == process.pid ? Fit::kExact : Fit::kNone;
}

SkipReports::Fit SkipReports::fit_by_names(const SkippedCapture& report, const TimelineProcess& process) const {
  const bool is_on_host = report.node_name == process.host_name;
  if (names_no_process(report)) return is_on_host ? Fit::kNode : Fit::kNone;
  if (report.service != process.service || named_.contains({report.node_id, report.pid})) return Fit::kNone;
  if (report.pid == process.pid && is_on_host) return Fit::kHost;
  const bool is_on_other_node = !is_on_host && hosts_.contains(process.host_name);
  if (report.pid == process.pid && !is_on_other_node) return Fit::kProcess;
  const bool may_be_its = !hosts_.contains(process.host_name) || processes_.at(process.service) == 1;
  return may_be_its ? Fit::kService : Fit::kNone;
}

}  // namespace fathom::query
