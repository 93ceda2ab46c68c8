// What a collector asks of a CaptureService.
#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/time.h"
#include "node-agent/triggers/capture_metrics.h"
#include "node-agent/triggers/capture_requester.h"
#include "node-agent/triggers/capture_service.h"

namespace fathom::agent {

struct CaptureService::Target {
  ProgramPtr program;
  TraceId trace_id;
  uint64_t begin_nano = 0;
  uint64_t end_nano = 0;
};

namespace {

struct Window {
  uint64_t begin_nano = 0;  // 0: not said
  uint64_t end_nano = 0;
};

// An instant of the collector's clock on our CLOCK_MONOTONIC, by what both clocks say now.
uint64_t local_nano(uint64_t collector_unix_nano, int64_t ahead_nano, uint64_t now_nano) {
  auto from_now = static_cast<int64_t>(collector_unix_nano - static_cast<uint64_t>(ahead_nano) - now_unix_nano());
  if (from_now >= 0) return now_nano + static_cast<uint64_t>(from_now);
  return now_nano - std::min(now_nano, static_cast<uint64_t>(-from_now));
}

Window window_of(const CaptureRequest& request, const CaptureServiceOptions& options, uint64_t now_nano) {
  int64_t ahead_nano = options.collector_ahead_nano ? options.collector_ahead_nano() : 0;
  Window window;
  if (request.start_unix_nano != 0) window.begin_nano = local_nano(request.start_unix_nano, ahead_nano, now_nano);
  if (request.end_unix_nano != 0) window.end_nano = local_nano(request.end_unix_nano, ahead_nano, now_nano);
  uint64_t longest_nano = now_nano + options.longest_window_nano;
  return {std::min(window.begin_nano, longest_nano), std::min(window.end_nano, longest_nano)};
}

using WatchedList = std::vector<std::shared_ptr<const WatchedProgram>>;

// Those of a service that are over count only where none of it runs: of them there is what they did long ago, at most.
WatchedList requested_programs(const CaptureRequest& request, WatchedList programs) {
  bool by_pid = request.pid != 0;
  std::erase_if(programs, [&](const auto& program) {
    return by_pid ? static_cast<uint32_t>(program->process.pid) != request.pid
                  : request.service.empty() || program->service != request.service;
  });
  auto is_over = [](const auto& program) { return program->ended; };
  if (!by_pid && !std::ranges::all_of(programs, is_over)) std::erase_if(programs, is_over);
  return programs;
}

}  // namespace

void CaptureService::capture(CaptureRequest request, std::function<void(CaptureAnswer)> answer) {
  auto requester = std::make_shared<CaptureRequester>();
  requester->answer.request_id = request.request_id;
  requester->respond = std::move(answer);
  if (request.trigger != CaptureTrigger::kRemote) request.trigger = CaptureTrigger::kRequested;
  std::vector<Target> targets = targets_of(request, now_monotonic_nano());
  if (targets.empty()) requester->skip("this node has nothing of it");
  if (targets.size() > options_.most_requested_processes) {
    requester->skip(std::to_string(targets.size() - options_.most_requested_processes) + " more processes");
    targets.resize(options_.most_requested_processes);
  }
  if (!targets.empty()) ring_for(request, targets.front());
  for (const Target& target : targets) ask_for(target, request, requester);
  requester->respond_when_all_are_made();
}

std::vector<CaptureService::Target> CaptureService::targets_of(const CaptureRequest& request, uint64_t now_nano) const {
  std::vector<Target> targets;
  Window window = window_of(request, options_, now_nano);
  if (!request.trace_id.is_zero()) {
    targets_of_trace(request.trace_id, now_nano, targets);
  } else {
    uint64_t duration_nano = std::min(request.duration_nano == 0 ? options_.request_window_nano : request.duration_nano,
                                      options_.longest_window_nano);
    for (const ProgramPtr& program : requested_programs(request, programs_.all())) {
      targets.push_back({program, {}, now_nano - std::min(now_nano, duration_nano), now_nano});
    }
  }
  for (Target& target : targets) {
    if (window.begin_nano != 0) target.begin_nano = window.begin_nano;
    if (window.end_nano != 0) target.end_nano = std::max(window.end_nano, target.begin_nano);
  }
  return targets;
}

// From what is finished, and what is open.
void CaptureService::targets_of_trace(const TraceId& trace_id, uint64_t now_nano, std::vector<Target>& targets) const {
  for (const TraceMemory::Stay& stay : traces_.find(trace_id, now_nano)) {
    if (ProgramPtr program = programs_.find(stay.program))
      targets.push_back({program, trace_id, std::min(stay.start_nano, now_nano),
                         std::min(stay.end_nano, now_nano) + options_.margin_nano});
  }
  TickTimes times = times_.copy();
  for (const ProgramPtr& program : programs_.all()) {
    if (!program->open) continue;
    for (const ThreadSpan& open : program->open->all_open(OpenSpanScan::kMostSlots)) {
      if (open.span.trace_id != trace_id) continue;
      auto known =
          std::find_if(targets.begin(), targets.end(), [&](const Target& target) { return target.program == program; });
      if (known == targets.end()) known = targets.insert(known, {program, trace_id, now_nano, now_nano});
      known->begin_nano = std::min(known->begin_nano, times.monotonic_nano(program->clock, open.span.start_ticks));
      known->end_nano = now_nano;
    }
  }
}

// One snapshot is of the whole node, so one is enough, at the end of the window.
void CaptureService::ring_for(const CaptureRequest& request, const Target& target) {
  if (options_.snapshots == nullptr) return;
  const SnapshotAsk ask{.reason = name_of(request.trigger),
                        .trace_id = target.trace_id,
                        .span_id = {},
                        .pid = target.program->process.pid};
  const uint64_t now_nano = now_monotonic_nano();
  // A trace's window ends a margin behind its last span, which is over.
  if (target.end_nano <= now_nano + options_.margin_nano) return options_.snapshots->ring(ask);
  auto timer = std::make_shared<boost::asio::steady_timer>(loop_);
  timer->expires_after(std::chrono::nanoseconds(target.end_nano - now_nano));
  timer->async_wait([timer, ask, alive = alive_, bell = options_.snapshots](const boost::system::error_code& fault) {
    if (!fault && *alive) bell->ring(ask);
  });
}

void CaptureService::ask_for(const Target& target, const CaptureRequest& request,
                             const std::shared_ptr<CaptureRequester>& requester) {
  std::string process = "process " + std::to_string(target.program->process.pid) + ": ";
  bool requested = request.trigger == CaptureTrigger::kRequested;
  if (requested && requested_.contains(target.program->serial)) {
    count_skipped(request.trigger, SkipReason::kBusy);
    return requester->skip(process + "another request's capture is being made");
  }
  CaptureJob job = job_of(target.program, target.begin_nano, target.end_nano);
  CaptureSubject subject{.trigger = request.trigger, .trace_id = target.trace_id, .reason = request.reason};
  if (!admit(job, std::move(subject), {}))
    return requester->skip(process + "captured lately, or too many are asked for");
  bool ahead = target.end_nano > now_monotonic_nano();
  job.wants_kernel_events = ahead && requested && kernel_.mode() != KernelEventsMode::kOff;
  job.requester = requester;
  bool wants_kernel_events = job.wants_kernel_events;
  ProcessId id = target.program->process;
  if (wants_kernel_events) worker_->post([this, id] { kernel_.choose(id, KernelDepth::kEverything); });
  if (std::optional<SkipReason> refused = worker_->submit(job)) {
    skip(job, *refused);
    if (wants_kernel_events) worker_->post([this, id] { kernel_.forget(id, KernelDepth::kEverything); });
    return requester->skip(process + words_of(*refused));
  }
  ++requester->pending;
  if (requested) requested_.insert(target.program->serial);
}

void CaptureService::tracepoints(TracepointRequest request, std::function<void(TracepointAnswer)> answer) {
  if (agent_ != nullptr) {
    return tracepoint_requests_.ask(*agent_, std::move(request), now_monotonic_nano(), std::move(answer));
  }
  answer({.request_id = request.request_id, .failure = "this agent is stopping"});
}

void CaptureService::tracepoint_rules(std::vector<TracepointRule> rules) {
  if (agent_ == nullptr) return early_rules_ = std::move(rules), void();
  Result<> set = agent_->set_fleet_tracepoints(rules);
  if (!set) log_warning("the server's rules for tracepoints are not obeyed: " + set.error().message);
}

void CaptureService::set_agent(Agent* agent) {
  agent_ = agent;
  if (agent_ != nullptr && !early_rules_.empty()) tracepoint_rules(std::exchange(early_rules_, {}));
}

}  // namespace fathom::agent
