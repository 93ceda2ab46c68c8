#include "node-agent/triggers/capture_service.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "base/hash.h"
#include "base/time.h"
#include "base/utf8.h"
#include "node-agent/agent/state_directory.h"
#include "node-agent/triggers/capture_metrics.h"
#include "node-agent/triggers/capture_requester.h"

namespace fathom::agent {

namespace {

constexpr size_t kMostTextBytes = 1024;
// What a program triggers itself would wait for longer than rings last.
constexpr uint64_t kWatchForSnapshotsNano = 2'000'000;

// Names are the program's, and may end in the middle of a character.
std::string text_of(std::string_view bytes) {
  return repair_utf8(bytes.substr(0, kMostTextBytes), kMostTextBytes);
}

uint64_t operation_of_service(const WatchedProgram& program, uint64_t operation) {
  return hash64(program.service, hash64(program.service_namespace, operation));
}

void observe_all(const std::vector<OverdueSpan>& spans, uint64_t copied_nano) {
  for (const OverdueSpan& span : spans) {
    uint64_t due_nano = span.start_nano + span.threshold_nano;
    if (due_nano < copied_nano) observe_overdue(copied_nano - due_nano);
  }
}

std::string took_too_long(std::string_view name, const char* verb, uint64_t duration_nano, uint64_t threshold_nano) {
  return text_of(name) + " " + verb + " " + format_duration(duration_nano) + ", its threshold is " +
         format_duration(threshold_nano);
}

}  // namespace

CaptureService::CaptureService(boost::asio::io_context& loop, const CaptureServiceOptions& options, ClockSource& clock,
                               CaptureWorker::Encode encode, CaptureOutbox& outbox)
    : loop_(loop),
      options_(options),
      outbox_(outbox),
      book_(options.overdue_after_nano),
      finished_(traces_, *this),
      programs_({.changed = [this](const ProgramPtr& program) { program_changed(program); },
                 .gone = [this](const WatchedProgram& program) { program_gone(program); },
                 .ended = [this](const ProgramPtr& program) { watch_->look_last(program); },
                 .crashed = [this](const ProgramPtr& program,
                                   std::vector<ThreadSpan> open) { crashed(program, std::move(open)); }}),
      limits_(options.limits),
      kernel_(options.kernel_events),
      times_(clock) {
  auto done = [this, alive = alive_](CaptureWorker::Outcome outcome) {
    // A std::function must be copyable.
    auto shared = std::make_shared<CaptureWorker::Outcome>(std::move(outcome));
    boost::asio::post(loop_, [this, alive, shared] {
      if (*alive) made(std::move(*shared));
    });
  };
  worker_ = std::make_unique<CaptureWorker>(options.worker, times_, kernel_, std::move(encode), std::move(done));
  watch_ = std::make_unique<OverdueWatch>(clock, *this,
                                          options.snapshots ? kWatchForSnapshotsNano : WatchRound::kLongestNano);
  use(book_.current());
}

CaptureService::~CaptureService() {
  *alive_ = false;
  watch_.reset();
  worker_.reset();
}

void CaptureService::thresholds(ingest::Thresholds thresholds) {
  use(book_.take(thresholds.operations, thresholds.replaces));
}

void CaptureService::use(std::shared_ptr<const Thresholds> current) {
  finished_.set_thresholds(current);
  watch_->set_thresholds(std::move(current));
}

// ---- jobs, from any thread ------------------------------------------------------------------------------------------

CaptureJob CaptureService::job_of(const ProgramPtr& program, uint64_t begin_nano, uint64_t end_nano) const {
  CaptureJob job{.program = program, .trigger_nano = now_monotonic_nano()};
  job.begin_nano = begin_nano > options_.margin_nano ? begin_nano - options_.margin_nano : 0;
  job.end_nano = end_nano;
  if (!program->detail && !program->ended) job.detail_by_nano = job.trigger_nano + options_.first_events_nano;
  return job;
}

bool CaptureService::admit(CaptureJob& job, CaptureSubject subject, const Slowness& slowness) {
  CaptureTrigger trigger = subject.trigger;
  if (job.subjects.size() >= options_.most_subjects) {
    count_skipped(trigger, SkipReason::kBusy);
    return false;
  }
  TriggerCause cause{.trigger = trigger,
                     .program = job.program->serial,
                     .trace_id = subject.trace_id,
                     .operation = slowness.operation == 0 ? 0 : operation_of_service(*job.program, slowness.operation),
                     .duration_nano = slowness.duration_nano,
                     .goes_on = slowness.goes_on,
                     .shares = !job.subjects.empty()};
  uint64_t now_nano = now_monotonic_nano();
  if (std::optional<SkipReason> skipped = limits_.admit(cause, now_nano)) {
    count_skipped(trigger, *skipped);
    return false;
  }
  subject.id = {random_id()};
  subject.cause = cause;
  subject.admitted_nano = now_nano;
  job.subjects.push_back(std::move(subject));
  return true;
}

bool CaptureService::submit(CaptureJob job) {
  std::optional<SkipReason> refused = worker_->submit(job);
  if (refused) skip(job, *refused);
  return !refused;
}

void CaptureService::ring(const CaptureJob& job, uint32_t tid, uint64_t begin_nano, uint64_t at_nano) {
  if (options_.snapshots == nullptr || job.subjects.empty()) return;
  const CaptureSubject& subject = job.subjects.front();
  options_.snapshots->ring({.reason = name_of(subject.trigger),
                            .trace_id = subject.trace_id,
                            .span_id = subject.span_id,
                            .pid = job.program->process.pid,
                            .tid = static_cast<int32_t>(tid),
                            .begin_nano = begin_nano,
                            .at_nano = at_nano});
}

// Nothing is captured of it, so nothing of it may count as captured: at a span's end, all of it is of interest again.
void CaptureService::skip(const CaptureJob& job, SkipReason reason) {
  for (const CaptureSubject& subject : job.subjects) {
    count_skipped(subject.trigger, reason);
    limits_.give_back(subject.cause, subject.admitted_nano);
    bool is_remembered = subject.trigger == CaptureTrigger::kOverdue || subject.trigger == CaptureTrigger::kSlow;
    if (is_remembered) captured_.take_back(job.program->serial, subject.trace_id, subject.span_id, job.end_nano);
  }
}

// ---- on the watch's thread ------------------------------------------------------------------------------------------

void CaptureService::add_overdue(CaptureJob& job, const OverdueSpan& span) {
  std::string_view name = span.span.name();
  uint64_t open_nano = job.trigger_nano - std::min(job.trigger_nano, span.start_nano);
  admit(job,
        {.trigger = CaptureTrigger::kOverdue,
         .trace_id = span.span.trace_id,
         .span_id = span.span.span_id,
         .operation = text_of(name),
         .reason = took_too_long(name, "has been running for", open_nano, span.threshold_nano)},
        {.operation = operation_hash(span.span.kind, name, span.span.name_bytes), .duration_nano = open_nano});
}

// The copy is taken here and now: what the span did may be overwritten soon, and nobody may run before us.
bool CaptureService::overdue(const ProgramPtr& program, std::vector<OverdueSpan> spans) {
  auto earliest = [](const OverdueSpan& a, const OverdueSpan& b) { return a.start_nano < b.start_nano; };
  uint64_t begin_nano = std::min_element(spans.begin(), spans.end(), earliest)->start_nano;
  CaptureJob job = job_of(program, begin_nano, now_monotonic_nano());
  const OverdueSpan* rings = nullptr;
  for (const OverdueSpan& span : spans) {
    add_overdue(job, span);
    if (rings == nullptr && !job.subjects.empty()) ring(job, (rings = &span)->tid, span.start_nano);
  }
  if (job.subjects.empty()) return false;
  if (copy_all(job)) observe_all(spans, job.trigger_nano);
  remember(job, spans);
  (void)submit(std::move(job));
  return true;
}

void CaptureService::remember(const CaptureJob& job, const std::vector<OverdueSpan>& spans) {
  for (const CaptureSubject& subject : job.subjects) {
    auto its = std::ranges::find_if(spans, [&](const OverdueSpan& of) { return of.span.span_id == subject.span_id; });
    uint64_t start_nano = its == spans.end() ? job.begin_nano : its->start_nano;
    captured_.put({job.program->serial, subject.trace_id, subject.span_id, start_nano, job.end_nano});
  }
}

// False: of the events there was no copy; it is taken when the capture is made.
bool CaptureService::copy_all(CaptureJob& job) {
  bool copied = worker_->copy_now(job);
  job.open = job.program->open->all_open();
  job.trigger_nano = now_monotonic_nano();
  return copied;
}

bool CaptureService::asked(const ProgramPtr& program, std::vector<ProgramTrigger> triggers) {
  uint64_t now_nano = now_monotonic_nano();
  CaptureJob job = job_of(program, now_nano - std::min(now_nano, options_.program_window_nano), now_nano);
  for (const ProgramTrigger& trigger : triggers) {
    const bool is_admitted = admit(job,
                                   {.trigger = CaptureTrigger::kProgram,
                                    .trace_id = trigger.trace_id,
                                    .span_id = trigger.span_id,
                                    .reason = text_of(trigger.reason)},
                                   {});
    if (is_admitted && job.subjects.size() == 1) ring(job, trigger.tid, 0);
  }
  if (job.subjects.empty()) return false;
  (void)copy_all(job);
  (void)submit(std::move(job));
  return true;
}

void CaptureService::missed(uint64_t triggers) {
  count_skipped(CaptureTrigger::kProgram, SkipReason::kOverwritten, triggers);
}

// ---- on the loop ----------------------------------------------------------------------------------------------------

void CaptureService::finished(uint32_t serial, std::vector<FinishedSpan> spans, const LeftOutSpans& left_out) {
  for (const auto& [what, count] : left_out) count_skipped(what.first, what.second, count);
  ProgramPtr program = programs_.find(serial);
  if (!program) return;
  std::vector<const FinishedSpan*> captured;
  for (const FinishedSpan& span : spans) {
    bool is_within_another = std::any_of(captured.begin(), captured.end(), [&](const FinishedSpan* other) {
      return other->trace_id == span.trace_id && other->start_nano <= span.start_nano &&
             span.end_nano <= other->end_nano;
    });
    if (is_within_another) {
      count_skipped(span.trigger, SkipReason::kSame);
    } else if (finished_one(program, span)) {
      captured.push_back(&span);
    }
  }
}

// What of a slow span is not captured yet: of one that was captured while it ran, the rest; of one that began before
// what was captured of its trace, all. The others lie within one that is captured, when it ends at the latest; but a
// trace may go on for days, and what came a while behind what was captured has a turn of its own.
bool CaptureService::take_rest(const FinishedSpan& span, CaptureJob& job, bool& goes_on) {
  std::optional<CapturedTraces::Captured> known = captured_.find(job.program->serial, span.trace_id);
  bool is_the_same = known && known->span_id == span.span_id;
  bool is_past = known && !is_the_same && span.start_nano >= known->until_nano &&
                 span.end_nano - known->until_nano >= options_.limits.remember_nano;
  goes_on = known && !is_past;
  if (!goes_on) return true;
  if (known->until_nano >= job.end_nano || (!is_the_same && span.start_nano >= known->start_nano)) return false;
  if (is_the_same) job.begin_nano = std::max(job.begin_nano, known->until_nano);
  return true;
}

bool CaptureService::finished_one(const ProgramPtr& program, FinishedSpan span) {
  // A program may say that it ended in a thousand years.
  span.end_nano = std::min(span.end_nano, now_monotonic_nano());
  span.start_nano = std::min(span.start_nano, span.end_nano);
  bool slow = span.trigger == CaptureTrigger::kSlow;
  CaptureJob job = job_of(program, span.start_nano, span.end_nano + options_.margin_nano);
  bool goes_on = false;
  if (slow && !take_rest(span, job, goes_on)) {
    count_skipped(span.trigger, SkipReason::kSame);
    return false;
  }
  uint64_t duration_nano = span.end_nano - span.start_nano;
  std::string reason =
      slow ? took_too_long(span.name, "took", duration_nano, span.threshold_nano) : text_of(span.name) + " failed";
  bool admitted = admit(job,
                        {.trigger = span.trigger,
                         .trace_id = span.trace_id,
                         .span_id = span.span_id,
                         .operation = text_of(span.name),
                         .reason = std::move(reason)},
                        {span.operation, duration_nano, goes_on});
  if (!admitted) return false;
  if (!goes_on) ring(job, 0, span.start_nano, span.end_nano);  // else it was cut while it ran
  if (slow) captured_.put({program->serial, span.trace_id, span.span_id, span.start_nano, job.end_nano});
  return submit(std::move(job));
}

void CaptureService::program_changed(const ProgramPtr& program) {
  worker_->changed(program);
  watch_->set(program);
  if (options_.snapshots != nullptr) {
    program->ended ? options_.snapshots->program_ended(*program) : options_.snapshots->program_runs(program);
  }
  std::optional<KernelDepth> depth = kernel_.depth_of_programs();
  bool wanted = depth && !program->ended;
  if (!wanted) return;  // who was chosen stays so until it is gone: its last events are of interest
  auto chosen = kernel_chosen_.find(program->serial);
  if (chosen != kernel_chosen_.end() && chosen->second == program->process) return;
  if (chosen != kernel_chosen_.end()) {  // the pool has another process now
    worker_->post([this, process = chosen->second, depth] { kernel_.forget(process, *depth); });
  }
  worker_->post([this, process = program->process, depth] { kernel_.choose(process, *depth); });
  kernel_chosen_[program->serial] = program->process;
}

void CaptureService::program_gone(const WatchedProgram& program) {
  watch_->remove(program.serial);
  if (options_.snapshots != nullptr) options_.snapshots->program_ended(program);
  auto chosen = kernel_chosen_.find(program.serial);
  if (chosen == kernel_chosen_.end()) return;
  worker_->post([this, process = chosen->second] { kernel_.forget(process, *kernel_.depth_of_programs()); });
  kernel_chosen_.erase(chosen);
}

// Under each trace that was open, because those will never have the end of their spans; the innermost span says where.
void CaptureService::crashed(const ProgramPtr& program, std::vector<ThreadSpan> open) {
  uint64_t now_nano = now_monotonic_nano();
  CaptureJob job = job_of(program, now_nano - std::min(now_nano, options_.crash_window_nano), now_nano);
  CaptureSubject subject{
      .trigger = CaptureTrigger::kCrash,
      .reason = "process " + std::to_string(program->process.pid) + " ended without coming to its end"};
  std::map<TraceId, const ThreadSpan*> innermost;
  for (const ThreadSpan& span : open) innermost[span.span.trace_id] = &span;
  for (const auto& [trace_id, span] : innermost) {
    subject.trace_id = trace_id;
    subject.span_id = span->span.span_id;
    subject.operation = text_of(span->span.name());
    admit(job, subject, {});
  }
  if (innermost.empty()) admit(job, subject, {});
  job.open = std::move(open);
  if (!job.subjects.empty()) (void)submit(std::move(job));
}

// ---- what was made --------------------------------------------------------------------------------------------------

void CaptureService::made(CaptureWorker::Outcome outcome) {
  if (outcome.made) {
    send(outcome.job, *std::move(outcome.made));
    return settle(outcome.job, std::nullopt);
  }
  skip(outcome.job, outcome.skipped);
  settle(outcome.job, outcome.skipped);
}

void CaptureService::send(const CaptureJob& job, ReadyCapture capture) {
  auto content = std::make_shared<const std::string>(std::move(capture.made.content));
  for (const CaptureSubject& subject : job.subjects) {
    count_made(subject.trigger, content->size());
    OutgoingCapture outgoing{.begin = {.id = subject.id,
                                       .trace_id = subject.trace_id,
                                       .span_id = subject.span_id,
                                       .trigger = subject.trigger,
                                       .service = text_of(job.program->service),
                                       .pid = static_cast<uint32_t>(job.program->process.pid),
                                       .operation = subject.operation,
                                       .start_unix_nano = capture.start_unix_nano,
                                       .end_unix_nano = capture.end_unix_nano,
                                       .crosses_clock_jump = capture.made.crosses_clock_jump,
                                       .truncated = capture.made.truncated,
                                       .losses = capture.made.losses,
                                       .sha256 = capture.hash},
                             .content = content};
    outbox_.send(std::move(outgoing), [](CaptureFate) {});  // what is lost there is counted there
  }
}

void CaptureService::settle(const CaptureJob& job, std::optional<SkipReason> skipped) {
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
