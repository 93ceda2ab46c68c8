#include "node-agent/triggers/capture_requests.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "base/time.h"
#include "node-agent/agent/process_life.h"
#include "node-agent/agent/state_directory.h"
#include "node-agent/triggers/capture_metrics.h"
#include "node-agent/triggers/capture_requester.h"
#include "node-agent/triggers/open_span_scan.h"

namespace fathom::agent {

struct CaptureRequests::Target {
  std::shared_ptr<const WatchedProgram> program;
  TraceId trace_id;
  uint64_t begin_nano = 0;
  uint64_t end_nano = 0;
  TimeWindow spans = {};  // of a trace: the time of its spans in this process
  bool goes_on = false;   // adds to an earlier capture of the trace
};

namespace {

// Converts a time of the collector's clock to our CLOCK_MONOTONIC, by what both clocks say now.
uint64_t local_nano(uint64_t collector_unix_nano, int64_t ahead_nano, uint64_t now_nano) {
  auto from_now = static_cast<int64_t>(collector_unix_nano - static_cast<uint64_t>(ahead_nano) - now_unix_nano());
  if (from_now >= 0) return now_nano + static_cast<uint64_t>(from_now);
  return now_nano - std::min(now_nano, static_cast<uint64_t>(-from_now));
}

// 0: the request gives no such time.
TimeWindow window_of(const CaptureRequest& request, const CaptureServiceOptions& options, uint64_t now_nano) {
  int64_t ahead_nano = options.collector_ahead_nano ? options.collector_ahead_nano() : 0;
  TimeWindow window;
  if (request.start_unix_nano != 0) window.begin_nano = local_nano(request.start_unix_nano, ahead_nano, now_nano);
  if (request.end_unix_nano != 0) window.end_nano = local_nano(request.end_unix_nano, ahead_nano, now_nano);
  uint64_t longest_nano = now_nano + options.longest_window_nano;
  return {std::min(window.begin_nano, longest_nano), std::min(window.end_nano, longest_nano)};
}

constexpr uint32_t kNoProgram = 0;  // serials begin at 1

using WatchedList = std::vector<std::shared_ptr<const WatchedProgram>>;

// Ended processes of a service count only if none of it runs: they have only old events, if any.
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

// The hint that only processes with fathom's client can be captured.
std::string why_nothing(const CaptureRequest& request) {
  if (!request.trace_id.is_zero()) return "";
  if (request.pid == 0) return ": no program of this service uses fathom's client here";
  const std::string process = "process " + std::to_string(request.pid);
  if (!identify_process(static_cast<pid_t>(request.pid)).known()) return ": no " + process + " runs here";
  return ": " + process + " does not use fathom's client, or did not find this agent's socket";
}

}  // namespace

void CaptureRequests::capture(CaptureRequest request, std::function<void(CaptureAnswer)> answer) {
  auto requester = std::make_shared<CaptureRequester>();
  requester->answer.request_id = request.request_id;
  requester->respond = std::move(answer);
  if (request.trigger != CaptureTrigger::kRemote) request.trigger = CaptureTrigger::kRequested;
  if (request.hold_nano > 0) {
    const TimeWindow window = window_of(request, admission_.options(), now_monotonic_nano());
    for (const auto& program : hold(request.trace_id, {kNoProgram, window}, request.hold_nano))
      requester->skip("process " + std::to_string(program->process.pid) + ": already held, or too many are held");
  } else {
    make(request, requester);
  }
  requester->respond_when_all_are_made();
}

void CaptureRequests::make(const CaptureRequest& request, const std::shared_ptr<CaptureRequester>& requester) {
  const uint64_t now_nano = now_monotonic_nano();
  const bool is_remote = request.trigger == CaptureTrigger::kRemote;
  const TimeWindow window = window_of(request, admission_.options(), now_nano);
  std::vector<Target> targets = targets_of(request, window, now_nano);
  const bool was_kept = is_remote && send_kept(request, *requester);
  if (targets.empty() && !was_kept) requester->skip("this node has nothing of it" + why_nothing(request));
  if (is_remote) targets = missing_of(std::move(targets), *requester);
  const auto first = std::ranges::find(targets, false, &Target::goes_on);
  if (first != targets.end()) ring_for(request, *first);
  make(targets, request, requester);
  if (is_remote) look_again(request, window);
}

void CaptureRequests::make(std::span<const Target> targets, const CaptureRequest& request,
                           const std::shared_ptr<CaptureRequester>& requester) {
  const size_t most = admission_.options().most_requested_processes;
  if (targets.size() > most) {
    requester->skip(std::to_string(targets.size() - most) + " more processes");
    targets = targets.first(most);
  }
  for (const Target& target : targets) ask_for(target, request, requester);
}

std::vector<CaptureRequests::Target> CaptureRequests::missing_of(std::vector<Target> targets,
                                                                 CaptureRequester& requester) {
  if (const size_t captured = leave_out(targets, {}, now_monotonic_nano())) {
    requester.skip(std::to_string(captured) + " processes: already captured");
    count_skipped(CaptureTrigger::kRemote, SkipReason::kSame, captured);
  }
  return targets;
}

// ---- the other processes of this node -------------------------------------------------------------------------------

// Posted, because the caller may be in the middle of sending its captures, which may include those wanted here.
void CaptureRequests::sent(const CaptureSubject& subject, const MadeContent& content) {
  if (subject.trace_id.is_zero()) return;
  captured_.add(content.program, subject.trace_id, {content.begin_nano, content.end_nano}, now_monotonic_nano());
  const bool is_answer = subject.trigger == CaptureTrigger::kRemote || subject.trigger == CaptureTrigger::kRequested;
  if (is_answer) return;
  auto then = [this, alive = alive_, subject, program = content.program, pid = content.pid, end = content.end_nano] {
    if (*alive) make_of_others(subject, program, pid, end);
  };
  boost::asio::post(loop_, std::move(then));
}

// The window begins where the process's own first capture begins, as in the collector's requests to other nodes: at
// that capture, spans of the others may not have been known.
void CaptureRequests::make_of_others(const CaptureSubject& subject, uint32_t program, uint32_t pid, uint64_t end_nano) {
  if (host_.programs.all().size() < 2) return;
  const uint64_t now_nano = now_monotonic_nano();
  const std::vector<TimeWindow> own = captured_.of(program, subject.trace_id, now_nano);
  if (own.empty()) return;
  const TimeWindow window{std::ranges::min_element(own, {}, &TimeWindow::begin_nano)->begin_nano, end_nano};
  const CaptureRequest request{.trigger = CaptureTrigger::kRemote,
                               .trace_id = subject.trace_id,
                               .reason = "captured in process " + std::to_string(pid) + ": " +
                                         std::string(name_of(subject.trigger)) +
                                         (subject.operation.empty() ? "" : " (" + subject.operation + ")")};
  CaptureRequester requester;  // its answer is discarded
  (void)send_kept(request, requester);
  make_missing(request, window);
  look_again(request, window);
}

void CaptureRequests::make_missing(const CaptureRequest& request, const TimeWindow& window) {
  const uint64_t now_nano = now_monotonic_nano();
  std::vector<Target> targets = targets_of(request, window, now_nano);
  const uint64_t slack_nano = admission_.options().margin_nano;
  std::erase_if(targets, [&](const Target& target) {
    return target.spans.begin_nano > target.end_nano + slack_nano ||
           target.spans.end_nano + slack_nano < target.begin_nano;
  });
  (void)leave_out(targets, {}, now_nano);
  make(targets, request, std::make_shared<CaptureRequester>());
}

void CaptureRequests::look_again(const CaptureRequest& request, const TimeWindow& window) {
  auto timer = std::make_shared<boost::asio::steady_timer>(loop_, std::chrono::nanoseconds(kSpansKnownNano));
  timer->async_wait([this, timer, request, window, alive = alive_](const boost::system::error_code& fault) {
    if (!fault && *alive) make_missing(request, window);
  });
}

void CaptureRequests::announced(const TraceId& trace_id, const ProgramWindow& own, uint64_t hold_nano) {
  if (host_.programs.all().size() >= 2) (void)hold(trace_id, own, hold_nano);
}

// ---- kept captures --------------------------------------------------------------------------------------------------

// Candidates of the trace are kept, whichever program they belong to. Of other windows, what is missing is held.
std::vector<std::shared_ptr<const WatchedProgram>> CaptureRequests::hold(const TraceId& trace_id,
                                                                         const ProgramWindow& asking,
                                                                         uint64_t hold_nano) {
  const uint64_t now_nano = now_monotonic_nano();
  const uint64_t until_nano = now_nano + std::min(hold_nano, HeldTraces::kLongestNano);
  const std::vector<ProgramWindow> kept = host_.provisional.hold(trace_id, asking.program, until_nano);
  std::vector<Target> targets = targets_of({.trace_id = trace_id}, asking.window, now_nano);
  (void)leave_out(targets, kept, now_nano);
  std::vector<std::shared_ptr<const WatchedProgram>> refused;
  for (const Target& target : targets) {
    const TimeWindow window{target.begin_nano, target.end_nano};
    if (!host_.held.hold(target.program, trace_id, window, hold_nano, now_nano)) refused.push_back(target.program);
  }
  return refused;
}

bool CaptureRequests::send_kept(const CaptureRequest& request, CaptureRequester& requester) {
  const uint64_t now_nano = now_monotonic_nano();
  std::vector<ProgramWindow> kept = host_.provisional.choose_trace(request.trace_id, now_nano);
  const HeldTraces::Taken taken = host_.held.take(request.trace_id);
  kept.insert(kept.end(), taken.windows.begin(), taken.windows.end());
  for (const ProgramWindow& one : kept) captured_.add(one.program, request.trace_id, one.window, now_nano);
  for (const HeldTraces::ContentPtr& content : taken.contents)
    requester.answer.capture_ids.push_back(send_held(request.trace_id, *content, request.reason));
  return !kept.empty();
}

size_t CaptureRequests::leave_out(std::vector<Target>& targets, const std::vector<ProgramWindow>& kept,
                                  uint64_t now_nano) {
  const auto is_there = [&](Target& target) {
    std::vector<TimeWindow> others = captured_.of(target.program->serial, target.trace_id, now_nano);
    for (const ProgramWindow& one : kept) {
      if (one.program == target.program->serial) others.push_back(one.window);
    }
    return !leave_missing_part(target, others);
  };
  return std::erase_if(targets, is_there);
}

// The first time, the whole window is captured. Later, only the time of the process's own spans in it, because other
// processes' spans extend the window.
bool CaptureRequests::leave_missing_part(Target& target, const std::vector<TimeWindow>& others) const {
  if (others.empty()) return true;
  const TimeWindow wanted{std::max(target.begin_nano, target.spans.begin_nano),
                          std::min(target.end_nano, target.spans.end_nano)};
  const std::optional<TimeWindow> missing = missing_part(wanted, others, admission_.options().margin_nano);
  if (!missing) return false;
  target.begin_nano = missing->begin_nano;
  target.end_nano = missing->end_nano;
  target.goes_on = true;
  return true;
}

CaptureId CaptureRequests::send_held(const TraceId& trace_id, const MadeContent& content, const std::string& reason) {
  CaptureSubject subject;
  subject.id = {random_id()};
  subject.trigger = CaptureTrigger::kRemote;
  subject.trace_id = trace_id;
  subject.reason = reason;
  send_(subject, content);
  return subject.id;
}

// ---- processes and windows ------------------------------------------------------------------------------------------

std::vector<CaptureRequests::Target> CaptureRequests::targets_of(const CaptureRequest& request,
                                                                 const TimeWindow& window, uint64_t now_nano) const {
  std::vector<Target> targets = request.trace_id.is_zero() ? targets_of_programs(request, now_nano)
                                                           : targets_of_trace(request.trace_id, now_nano);
  for (Target& target : targets) {
    target.spans = {target.begin_nano, target.end_nano};
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

// From finished and from open spans.
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

// A snapshot covers the whole node, so one is enough, at the end of the window.
void CaptureRequests::ring_for(const CaptureRequest& request, const Target& target) {
  SnapshotBell* snapshots = admission_.options().snapshots;
  if (snapshots == nullptr) return;
  const SnapshotAsk ask{.reason = name_of(request.trigger),
                        .trace_id = target.trace_id,
                        .span_id = {},
                        .pid = target.program->process.pid,
                        .uid = target.program->uid};
  const uint64_t now_nano = now_monotonic_nano();
  // The window of a trace ends one margin after its last span, which has ended.
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
  CaptureSubject subject{.trigger = request.trigger, .trace_id = target.trace_id, .reason = request.reason};
  if (!admission_.admit(job, std::move(subject), {.goes_on = target.goes_on}))
    return requester->skip(process + "captured recently, or the limit of captures per second was reached");
  const bool is_ahead = target.end_nano > now_monotonic_nano();
  if (is_ahead && requested) job.follow_reason = FollowReason::kRequest;
  job.requester = requester;
  const TimeWindow window{job.begin_nano, job.end_nano};
  if (std::optional<SkipReason> refused = submit(job)) return requester->skip(process + words_of(*refused));
  if (!requested) captured_.add(target.program->serial, target.trace_id, window, now_monotonic_nano());
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
    not_made(job.subjects.front().trace_id, {job.program->serial, {job.begin_nano, job.end_nano}});
    requester.skip("process " + std::to_string(job.program->process.pid) + ": " + words_of(*skipped));
  } else {
    for (const CaptureSubject& subject : job.subjects) requester.answer.capture_ids.push_back(subject.id);
  }
  --requester.pending;
  requester.respond_when_all_are_made();
}

}  // namespace fathom::agent
