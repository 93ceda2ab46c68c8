#include "query/timeline/no_capture.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/skip_reason.h"
#include "base/time.h"
#include "query/timeline/captured_time.h"
#include "query/timeline/meter.h"
#include "query/timeline/origin.h"
#include "query/timeline/skip_reports.h"

namespace fathom::query {

namespace {

using store::SkippedCapture;

// Time until captures of a period's slowest requests are stored: agents send them five seconds after its end.
constexpr uint64_t kSentAfterNano = 15 * kNanosPerSecond;
// The longest period of slowest requests that agents accept.
constexpr uint64_t kLongestPeriodNano = kNanosPerHour;

bool uses_client(const store::StoredSpan& stored) {
  return std::ranges::any_of(stored.resource.attributes, [](const store::AttributeView& attribute) {
    return attribute.key == "telemetry.sdk.name" && store::value_text(attribute.value) == "fathom";
  });
}

using ProcessKey = std::tuple<std::string, std::string, uint32_t>;  // service, host, pid

ProcessKey key_of(const store::StoredSpan& stored) {
  Origin origin = origin_of(stored);
  const auto pid = static_cast<uint32_t>(std::strtoul(origin.pid.c_str(), nullptr, 10));
  return {std::move(origin.service), std::move(origin.host), pid};
}

ProcessKey key_of(const TimelineProcess& process) {
  return {process.service, process.host_name, process.pid};
}

uint64_t last_begin_of(const TimelineProcess& process) {
  uint64_t last_nano = 0;
  visit_spans(process, [&](const TimelineSpan& span) { last_nano = std::max(last_nano, span.begin_unix_nano); });
  return last_nano;
}

bool has_failed(const TimelineProcess& process) {
  bool failed = false;
  visit_spans(process, [&](const TimelineSpan& span) { failed = failed || span.status == store::StatusCode::kError; });
  return failed;
}

// Nodes that sent a capture because the server asked for their part of the trace.
std::set<store::NodeId> asked_nodes(const Timeline& timeline) {
  std::set<store::NodeId> nodes;
  for (const TimelineCapture& capture : timeline.captures) {
    const store::CaptureInfo& info = capture.stored.info;
    if (info.trace_id == timeline.trace_id && info.trigger == CaptureTrigger::kRemote) nodes.insert(info.node_id);
  }
  return nodes;
}

// The server may report a refused hold of a node and still ask the node later.
std::vector<SkippedCapture> without_asked(std::vector<SkippedCapture> reports, const std::set<store::NodeId>& asked) {
  std::erase_if(reports, [&](const SkippedCapture& report) {
    return report.reason == SkipReason::kRefused && asked.contains(report.node_id);
  });
  return reports;
}

NoCapture reported(const SkippedCapture& skipped) {
  const std::string who =
      skipped.reason == SkipReason::kRefused
          ? "the server asked the agent on " + skipped.node_name + " late, or not at all, for its part of the trace"
          : "the agent on " + skipped.node_name + " skipped its capture";
  return {.reason = name_of(skipped.reason),
          .explanation = who + " (trigger: " + std::string(name_of(skipped.trigger)) + "): " + words_of(skipped.reason),
          .node = skipped.node_name,
          .trigger = skipped.trigger};
}

// Begins the explanation of a partial capture.
const char* what_is_missing(CapturedTime captured) {
  return captured == CapturedTime::kBegin ? "not captured to its end: " : "captured in part only: ";
}

NoCapture because(std::string_view reason, std::string explanation) {
  return {.reason = reason, .explanation = std::move(explanation), .node = ""};
}

class Explainer {
 public:
  Explainer(const Timeline& timeline, std::vector<SkippedCapture> skipped, std::vector<NodeRow> nodes,
            uint64_t now_unix_nano)
      : nodes_(std::move(nodes)),
        asked_(asked_nodes(timeline)),
        reports_(without_asked(std::move(skipped), asked_), timeline.processes, nodes_),
        now_unix_nano_(now_unix_nano) {
    for (const store::StoredSpan& stored : timeline.trace.spans) {
      if (uses_client(stored)) with_client_.insert(key_of(stored));
    }
  }

  NoCapture explain(const TimelineProcess& process, CapturedTime captured, Meter& meter) const {
    const bool is_partial = captured != CapturedTime::kNotItsOwn;
    NoCapture why = reason_of(process, is_partial, meter);
    if (is_partial) why.explanation.insert(0, what_is_missing(captured));
    why.is_partial = is_partial;
    return why;
  }

 private:
  NoCapture reason_of(const TimelineProcess& process, bool is_partial, Meter& meter) const {
    // Agents only read programs that use fathom's client.
    const bool has_client = !process.node_id.is_zero() || with_client_.contains(key_of(process));
    if (const SkippedCapture* report = reports_.find(process, has_client, meter)) return reported(*report);
    return has_client ? without_report(process, is_partial) : without_client(process);
  }

  NoCapture without_client(const TimelineProcess& process) const {
    const std::string no_client = "this service does not use fathom's client";
    if (process.host_name.empty() || nodes_.empty() || node_of(process) != nullptr) {
      return because(kNoClient, no_client + ", so nothing of its threads is recorded");
    }
    return because(kNoAgent,
                   "no agent of this server runs on a host called " + process.host_name + ", and " + no_client);
  }

  NoCapture without_report(const TimelineProcess& process, bool is_partial) const {
    const NodeRow* node = node_of(process);
    if (node != nullptr && node->captures_off) {
      return because(kCapturesOff, "the agent on " + node->host_name + " runs with --no-captures");
    }
    const uint64_t period_nano = period_of(node);
    if (const uint64_t left_nano = left_of_period(process, period_nano)) {
      return because(kNotYet, "captures of slow requests are sent when their " + words_of_period(period_nano) +
                                  " is over; ask again in " + format_duration(left_nano));
    }
    if (process.captures_left_out) {
      return because(kBudget,
                     "captures of other requests may have all of its time, but were left out for the query's "
                     "budget, or were not searched for");
    }
    const std::string missing = why_report_may_be_missing(process, node, is_partial);
    if (!missing.empty()) return because(kReasonUnknown, "why is not known: " + missing);
    if (is_partial) return because(kNoTrigger, "as far as is known, nothing triggered a capture of the rest");
    return because(kNoTrigger,
                   "as far as is known, nothing triggered a capture: it was not among the slowest requests of its "
                   "operation and " +
                       words_of_period(period_nano) + ", did not fail, and nobody asked for it");
  }

  // Empty: if something had triggered a capture, the agent's report would be here.
  std::string why_report_may_be_missing(const TimelineProcess& process, const NodeRow* node, bool is_partial) const {
    if (node == nullptr) return "this server does not know its agent";
    const std::string agent = "the agent on " + node->host_name;
    if (!node->reports_skipped_captures) return agent + " does not report reasons";
    if (node->agent_since_unix_nano > last_begin_of(process)) {
      return agent + " was started after the request, or this server was";
    }
    if (!is_partial && asked_.contains(process.node_id)) {
      return agent + " was asked for its part of the trace, and sent nothing of this process";
    }
    if (has_failed(process)) return "it failed, and of very many failures agents report only some";
    return "";
  }

  // Null: the agent is unknown.
  const NodeRow* node_of(const TimelineProcess& process) const {
    const std::string node_id = process.node_id.is_zero() ? "" : process.node_id.hex();
    const auto is_its = [&](const NodeRow& node) {
      if (!node_id.empty()) return node.node_id == node_id;
      return !process.host_name.empty() && node.host_name == process.host_name;
    };
    const auto found = std::ranges::find_if(nodes_, is_its);
    return found == nodes_.end() ? nullptr : &*found;
  }

  static uint64_t period_of(const NodeRow* node) {
    const bool is_known = node != nullptr && node->slowest_period_nano != 0;
    return is_known ? std::min(node->slowest_period_nano, kLongestPeriodNano) : kNanosPerMinute;
  }
  static std::string words_of_period(uint64_t period_nano) {
    return period_nano == kNanosPerMinute ? "minute" : "period of " + format_duration(period_nano);
  }

  // Time until the captures of the period are stored in which the process's last span began.
  uint64_t left_of_period(const TimelineProcess& process, uint64_t period_nano) const {
    const uint64_t begin_nano = last_begin_of(process);
    const uint64_t sent_nano = (begin_nano / period_nano + 1) * period_nano + kSentAfterNano;
    const bool is_recent = begin_nano <= now_unix_nano_ && now_unix_nano_ < sent_nano;
    return is_recent ? sent_nano - now_unix_nano_ : 0;
  }

  const std::vector<NodeRow> nodes_;
  const std::set<store::NodeId> asked_;
  const SkipReports reports_;
  const uint64_t now_unix_nano_;
  std::set<ProcessKey> with_client_;
};

std::vector<std::pair<TimelineProcess*, CapturedTime>> lacking_processes(Timeline& timeline, Meter& meter) {
  std::vector<std::pair<TimelineProcess*, CapturedTime>> lacking;
  for (TimelineProcess& process : timeline.processes) {
    if (!meter.step(timeline.captures.size() + process.spans.size())) break;
    const CapturedTime captured = captured_time(timeline, process);
    if (captured != CapturedTime::kAll) lacking.emplace_back(&process, captured);
  }
  return lacking;
}

}  // namespace

Result<> explain_no_captures(const Stores& stores, const TimelineQuery& query, Timeline& timeline,
                             store::QueryBudget& budget) {
  const bool is_whole = query.subject.trace && !query.capture;
  if (!is_whole) return {};
  Meter meter(budget);
  std::vector<std::pair<TimelineProcess*, CapturedTime>> lacking = lacking_processes(timeline, meter);
  if (lacking.empty() || !meter.going_on()) return meter.result();
  std::vector<SkippedCapture> skipped;
  if (stores.captures != nullptr) {
    auto found = stores.captures->skipped_of_trace(timeline.trace_id, budget);
    if (!found) return found.error();
    skipped = *std::move(found);
  }
  const Explainer explainer(timeline, std::move(skipped), stores.nodes ? stores.nodes() : std::vector<NodeRow>{},
                            query.now_unix_nano);
  for (const auto& [process, captured] : lacking) process->no_capture = explainer.explain(*process, captured, meter);
  return meter.result();
}

}  // namespace fathom::query
