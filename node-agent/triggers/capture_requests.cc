#include "node-agent/triggers/capture_requests.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "base/time.h"
#include "node-agent/triggers/capture_metrics.h"
#include "node-agent/triggers/capture_requester.h"
#include "node-agent/triggers/open_span_scan.h"

namespace fathom::agent {

struct CaptureRequests::Target {
  std::shared_ptr<const WatchedProgram> program;
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

void CaptureRequests::capture(CaptureRequest request, std::function<void(CaptureAnswer)> answer) {
  auto requester = std::make_shared<CaptureRequester>();
  requester->answer.request_id = request.request_id;
  requester->respond = std::move(answer);
  if (request.trigger != CaptureTrigger::kRemote) request.trigger = CaptureTrigger::kRequested;
  std::vector<Target> targets = targets_of(request, now_monotonic_nano());
  if (targets.empty()) requester->skip("this node has nothing of it");
  const size_t most = admission_.options().most_requested_processes;
  if (targets.size() > most) {
    requester->skip(std::to_string(targets.size() - most) + " more processes");
    targets.resize(most);
  }
  if (!targets.empty()) ring_for(request, targets.front());
  for (const Target& target : targets) ask_for(target, request, requester);
  requester->respond_when_all_are_made();
}

std::vector<CaptureRequests::Target> CaptureRequests::targets_of(const CaptureRequest& request,
                                                                 uint64_t now_nano) const {
  const Window window = window_of(request, admission_.options(), now_nano);
  std::vector<Target> targets = request.trace_id.is_zero() ? targets_of_programs(request, now_nano)
                                                           : targets_of_trace(request.trace_id, now_nano);
  for (Target& target : targets) {
    if (window.begin_nano != 0) target.begin_nano = window.begin_nano;
    if (window.end_nano != 0) target.end_nano = std::max(window.end_nano, target.begin_nano);
  }
  return targets;
}

std::vector<CaptureRequests::Target> CaptureRequests::targets_of_programs(const CaptureRequest& request,
                                                                          uint64_t now_nano) const {
  const CaptureServiceOptions& options = admission_.options();
  const uint64_t wanted_nano = request.duration_nano == 0 ? options.request_window_nano : request.duration_nano;
  const uint64_t duration_nano = std::min(wanted_nano, options.longest_window_nano);
  std::vector<Target> targets;
  for (const auto& program : requested_programs(request, host_.programs.all())) {
    targets.push_back({program, {}, now_nano - std::min(now_nano, duration_nano), now_nano});
  }
  return targets;
}

// From what is finished, and what is open.
std::vector<CaptureRequests::Target> CaptureRequests::targets_of_trace(const TraceId& trace_id,
                                                                       uint64_t now_nano) const {
  std::vector<Target> targets;
  for (const TraceMemory::Stay& stay : host_.traces.find(trace_id, now_nano)) {
    if (auto program = host_.programs.find(stay.program))
      targets.push_back({program, trace_id, std::min(stay.start_nano, now_nano),
                         std::min(stay.end_nano, now_nano) + admission_.options().margin_nano});
  }
  add_open_spans(trace_id, now_nano, targets);
  return targets;
}

void CaptureRequests::add_open_spans(const TraceId& trace_id, uint64_t now_nano, std::vector<Target>& targets) const {
  TickTimes times = host_.times.copy();
  for (const auto& program : host_.programs.all()) {
    if (!program->open) continue;
    for (const ThreadSpan& open : program->open->all_open(OpenSpanScan::kMostSlots)) {
      if (open.span.trace_id != trace_id) continue;
      auto known = std::ranges::find(targets, program, &Target::program);
      if (known == targets.end()) known = targets.insert(known, {program, trace_id, now_nano, now_nano});
      known->begin_nano = std::min(known->begin_nano, times.monotonic_nano(program->clock, open.span.start_ticks));
      known->end_nano = now_nano;
    }
  }
}

// One snapshot is of the whole node, so one is enough, at the end of the window.
void CaptureRequests::ring_for(const CaptureRequest& request, const Target& target) {
  SnapshotBell* snapshots = admission_.options().snapshots;
  if (snapshots == nullptr) return;
  const SnapshotAsk ask{.reason = name_of(request.trigger),
                        .trace_id = target.trace_id,
                        .span_id = {},
                        .pid = target.program->process.pid};
  const uint64_t now_nano = now_monotonic_nano();
  // A trace's window ends a margin behind its last span, which is over.
  if (target.end_nano <= now_nano + admission_.options().margin_nano) return snapshots->ring(ask);
  auto timer = std::make_shared<boost::asio::steady_timer>(loop_);
  timer->expires_after(std::chrono::nanoseconds(target.end_nano - now_nano));
  timer->async_wait([timer, ask, alive = alive_, snapshots](const boost::system::error_code& fault) {
    if (!fault && *alive) snapshots->ring(ask);
  });
}

void CaptureRequests::ask_for(const Target& target, const CaptureRequest& request,
                              const std::shared_ptr<CaptureRequester>& requester) {
  const std::string process = "process " + std::to_string(target.program->process.pid) + ": ";
  const bool requested = request.trigger == CaptureTrigger::kRequested;
  if (requested && requested_.contains(target.program->serial)) {
    count_skipped(request.trigger, SkipReason::kBusy);
    return requester->skip(process + "another request's capture is being made");
  }
  CaptureJob job = admission_.job_of(target.program, target.begin_nano, target.end_nano);
  if (!admission_.admit(job, {.trigger = request.trigger, .trace_id = target.trace_id, .reason = request.reason}))
    return requester->skip(process + "captured lately, or too many are asked for");
  const bool is_ahead = target.end_nano > now_monotonic_nano();
  if (is_ahead && requested) job.follow_reason = FollowReason::kRequest;
  job.requester = requester;
  if (std::optional<SkipReason> refused = submit(job)) return requester->skip(process + words_of(*refused));
  ++requester->pending;
  if (requested) requested_.insert(target.program->serial);
}

std::optional<SkipReason> CaptureRequests::submit(CaptureJob& job) {
  const FollowReason reason = job.follow_reason;
  const ProcessId process = job.program->process;
  const bool follows = reason == FollowReason::kRequest;
  const Sources& sources = host_.sources;
  if (follows) host_.worker.post([&sources, process, reason] { sources.follow(process, reason); });
  std::optional<SkipReason> refused = host_.worker.submit(job);
  if (!refused) return std::nullopt;
  admission_.skip(job, *refused);
  if (follows) host_.worker.post([&sources, process, reason] { sources.forget(process, reason); });
  return refused;
}

void CaptureRequests::settle(const CaptureJob& job, std::optional<SkipReason> skipped) {
  if (!job.requester) return;
  if (job.subjects.front().trigger == CaptureTrigger::kRequested) requested_.erase(job.program->serial);
  CaptureRequester& requester = *job.requester;
  if (skipped) {
    requester.skip("process " + std::to_string(job.program->process.pid) + ": " + words_of(*skipped));
  } else {
    for (const CaptureSubject& subject : job.subjects) requester.answer.capture_ids.push_back(subject.id);
  }
  --requester.pending;
  requester.respond_when_all_are_made();
}

}  // namespace fathom::agent
