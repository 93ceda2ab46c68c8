#include "node-agent/triggers/capture_service.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "base/log.h"
#include "base/time.h"
#include "node-agent/triggers/capture_metrics.h"
#include "node-agent/triggers/crash_trigger.h"
#include "node-agent/triggers/followed_programs.h"

namespace fathom::agent {

namespace {

// What a program triggers itself would wait for longer than rings last.
constexpr uint64_t kWatchForSnapshotsNano = 2'000'000;

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
      finished_trigger_(admission_, programs_),
      requests_(loop, admission_, {programs_, traces_, times_, sources, *worker_}),
      finished_(traces_, finished_trigger_),
      watch_(std::make_unique<OverdueWatch>(clock, overdue_trigger_,
                                            options.snapshots ? kWatchForSnapshotsNano : WatchRound::kLongestNano)) {
  use(book_.current());
  programs_.add(*this);
  add(std::make_unique<FollowedPrograms>(sources, *worker_));
  add(std::make_unique<CrashTrigger>(admission_));
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

// What is about a program's life: also triggers.
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
  if (outcome.made) {
    send(outcome.job, *std::move(outcome.made));
    return requests_.settle(outcome.job, std::nullopt);
  }
  admission_.skip(outcome.job, outcome.skipped);
  requests_.settle(outcome.job, outcome.skipped);
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

}  // namespace fathom::agent
