#include "node-agent/triggers/capture_service.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/log.h"
#include "base/time.h"
#include "node-agent/triggers/capture_metrics.h"
#include "node-agent/triggers/crash_trigger.h"
#include "node-agent/triggers/followed_programs.h"

namespace fathom::agent {

namespace {

// Recorders hold some seconds, so a span may be seen late. The processor's rings hold some milliseconds.
constexpr WatchPace kPace{.shortest_nano = 16'000'000};
constexpr WatchPace kPaceForSnapshots{.longest_nano = 2'000'000};
constexpr uint64_t kReportEveryNano = kNanosPerSecond;  // of skipped traces

}  // namespace

CaptureService::CaptureService(boost::asio::io_context& loop, const CaptureServiceOptions& options, ClockSource& clock,
                               const Sources& sources, CaptureWorker::Encode encode, CaptureOutbox& outbox)
    : loop_(loop),
      options_(options),
      outbox_(outbox),
      book_(options.overdue_after_nano),
      times_(clock),
      worker_(std::make_unique<CaptureWorker>(options.worker, times_, sources, std::move(encode), on_loop())),
      admission_(options_, sources, *worker_),
      overdue_trigger_(admission_),
      provisional_(
          options_.provisional, admission_,
          {.find_program = [this](uint32_t serial) { return programs_.find(serial); },
           .announce = [this](const CaptureSubject& subject, const ProgramWindow& window,
                              uint64_t hold_nano) { announce(subject, window, hold_nano); },
           .send = [this](const CaptureSubject& subject, const MadeContent& content) { send(subject, content); },
           .hand_on = [this](const ProvisionalCaptures::HandedOn& handed_on) { hold(handed_on); },
           .not_made = take_back_of()}),
      held_(options_.provisional, admission_, take_back_of()),
      finished_trigger_(admission_, programs_, provisional_),
      requests_(loop, admission_, {programs_, traces_, times_, sources, *worker_, provisional_, held_},
                [this](const CaptureSubject& subject, const MadeContent& content) { send(subject, content); }),
      finished_(traces_, finished_trigger_),
      watch_(std::make_unique<OverdueWatch>(clock, overdue_trigger_, options.snapshots ? kPaceForSnapshots : kPace)) {
  use(book_.current());
  programs_.add(*this);
  add(std::make_unique<FollowedPrograms>(sources, *worker_));
  add(std::make_unique<CrashTrigger>(admission_, sources));
}

CaptureService::~CaptureService() {
  *alive_ = false;
  watch_.reset();
  worker_.reset();
}

CaptureWorker::Done CaptureService::on_loop() {
  return [this, alive = alive_](CaptureWorker::Outcome outcome) {
    // A std::function must be copyable.
    auto shared = std::make_shared<CaptureWorker::Outcome>(std::move(outcome));
    boost::asio::post(loop_, [this, alive, shared] {
      if (*alive) made(std::move(*shared));
    });
  };
}

NotMade CaptureService::take_back_of() {
  return [this](const TraceId& trace_id, const ProgramWindow& window) { requests_.not_made(trace_id, window); };
}

// Adds a listener to the programs' lives; triggers are listeners, too.
void CaptureService::add(std::unique_ptr<ProgramListener> listener) {
  programs_.add(*listener);
  listeners_.push_back(std::move(listener));
}

// ---- programs -------------------------------------------------------------------------------------------------------

void CaptureService::changed(const ProgramPtr& program) {
  worker_->changed(program);
  watch_->set(program);
  if (options_.snapshots == nullptr) return;
  program->ended ? options_.snapshots->program_ended(*program) : options_.snapshots->program_runs(program);
}

void CaptureService::gone(const WatchedProgram& program) {
  watch_->remove(program.serial);
  if (options_.snapshots != nullptr) options_.snapshots->program_ended(program);
}

// ---- what the collector asks ----------------------------------------------------------------------------------------

void CaptureService::thresholds(ingest::Thresholds thresholds) {
  use(book_.take(thresholds.operations, thresholds.replaces));
}

void CaptureService::use(std::shared_ptr<const Thresholds> current) {
  finished_.set_thresholds(current);
  watch_->set_thresholds(std::move(current));
}

void CaptureService::capture(CaptureRequest request, std::function<void(CaptureAnswer)> answer) {
  requests_.capture(std::move(request), std::move(answer));
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

// ---- what was made --------------------------------------------------------------------------------------------------

void CaptureService::made(CaptureWorker::Outcome outcome) {
  if (!outcome.made) return skipped(outcome.job, outcome.skipped);
  outcome.made->instant = outbox_.mark();
  switch (outcome.job.owner) {
    case JobOwner::kProvisionalCaptures:
      return provisional_.made(outcome.job, *std::move(outcome.made));
    case JobOwner::kHeldTraces:
      if (auto content = held_.made(outcome.job, *std::move(outcome.made))) {
        const CaptureSubject& subject = outcome.job.subjects.front();
        requests_.send_held(subject.trace_id, *content, subject.reason);
      }
      return;
    case JobOwner::kTrigger:
      break;
  }
  const MadeContent content = made_content(outcome.job, *std::move(outcome.made));
  for (const CaptureSubject& subject : outcome.job.subjects) send(subject, content);
  requests_.settle(outcome.job, std::nullopt);
}

void CaptureService::skipped(const CaptureJob& job, SkipReason reason) {
  switch (job.owner) {
    case JobOwner::kProvisionalCaptures:
      return provisional_.skipped(job, reason);
    case JobOwner::kHeldTraces:
      return held_.skipped(job, reason);
    case JobOwner::kTrigger:
      break;
  }
  admission_.skip(job, reason);
  requests_.settle(job, reason);
}

void CaptureService::announce(const CaptureSubject& subject, const ProgramWindow& own, uint64_t hold_nano) {
  TickTimes times = times_.copy();
  const auto unix_nano = [&](uint64_t nano) { return times.unix_nano(pool::Clock::kMonotonic, nano); };
  outbox_.announce({.trace_id = subject.trace_id,
                    .operation = subject.operation,
                    .hold_nano = hold_nano,
                    .start_unix_nano = unix_nano(own.window.begin_nano),
                    .end_unix_nano = unix_nano(own.window.end_nano)});
  requests_.announced(subject.trace_id, own, hold_nano);
}

void CaptureService::hold(const ProvisionalCaptures::HandedOn& handed_on) {
  if (handed_on.content) return held_.adopt(handed_on.trace_id, *handed_on.content, handed_on.until_nano);
  const uint64_t now_nano = now_monotonic_nano();
  const uint64_t hold_nano = handed_on.until_nano - std::min(handed_on.until_nano, now_nano);
  (void)held_.hold(handed_on.program, handed_on.trace_id, handed_on.window, hold_nano, now_nano);
}

void CaptureService::send(const CaptureSubject& subject, const MadeContent& content) {
  count_made(subject.trigger, std::exchange(content.is_sent, true) ? 0 : content.bytes->size());
  const ProgramWindow window{content.program, {content.begin_nano, content.end_nano}};
  auto is_over = [this, alive = alive_, lost = skipped_capture(subject, content, SkipReason::kLost),
                  window](CaptureFate fate) {
    if (!*alive || fate == CaptureFate::kDurable) return;
    // The outbox counts its own losses.
    admission_.skipped_traces().note(lost, now_monotonic_nano());
    requests_.not_made(lost.trace_id, window);
  };
  outbox_.send(outgoing_of(subject, content), std::move(is_over));
  requests_.sent(subject, content);
}

void CaptureService::report_skipped(uint64_t now_nano) {
  if (now_nano < next_report_nano_) return;
  next_report_nano_ = now_nano + kReportEveryNano;
  admission_.skipped_traces().hand_over(
      [this](const ingest::SkippedCaptures& skipped) { return outbox_.report_skipped(skipped); });
}

void CaptureService::finish() {
  provisional_.finish();
  next_report_nano_ = 0;
  report_skipped(now_monotonic_nano());
}

}  // namespace fathom::agent
