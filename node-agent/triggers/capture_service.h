// CaptureService: from triggers and requests to captures on their way to the collector.
//
// Purpose: the one place where all of it meets: programs that come and go (AgentObserver), spans that take too long
// while they run (TriggerSink, on the watch's thread) or took too long or failed (FinishedSpanSink), what a collector
// asks (ControlHandler); limits; the worker that makes captures; the outbox that carries them. docs/triggers.md has the
// rules. Thread safety: belongs to the agent's loop, but for TriggerSink. Ownership: what it refers to must outlive it;
// it must outlive the agent that it observes. Errors: what is skipped is counted, by kind and reason, in
// fathom_agent_captures_skipped_total; a request's answer says it in words.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <set>

#include "node-agent/agent/agent.h"
#include "node-agent/control.h"
#include "node-agent/snapshots/snapshot_bell.h"
#include "node-agent/triggers/capture_worker.h"
#include "node-agent/triggers/captured_traces.h"
#include "node-agent/triggers/finished_spans.h"
#include "node-agent/triggers/overdue_watch.h"
#include "node-agent/triggers/tracepoint_requests.h"
#include "node-agent/triggers/watched_programs.h"

namespace fathom::agent {

struct CaptureServiceOptions {
  CaptureWorkerOptions worker;
  TriggerLimitOptions limits;
  KernelEventsMode kernel_events = KernelEventsMode::kRequested;
  uint64_t overdue_after_nano = kNever;  // of operations of which nothing is learnt
  uint64_t margin_nano = 10'000'000;     // before a span's start, and behind its end
  uint64_t crash_window_nano = 10'000'000'000;
  uint64_t first_events_nano =
      1'000'000'000;  // for the pool of a program's first events to come, when a trigger was sooner
  uint64_t program_window_nano = 5'000'000'000;  // of fathom::trigger() outside of spans
  uint64_t request_window_nano = 5'000'000'000;  // of a request that says none
  uint64_t longest_window_nano = 600'000'000'000;
  size_t most_subjects = 8;  // traces of one capture's content
  size_t most_requested_processes = 32;
  SnapshotBell* snapshots = nullptr;  // rings at what is captured; null: nothing records control flow
  // The collector's clock is so much ahead of ours, as far as is known.
  std::function<int64_t()> collector_ahead_nano;
};

class CaptureService : public ControlHandler, public AgentObserver, public TriggerSink, public FinishedSpanSink {
 public:
  CaptureService(boost::asio::io_context& loop, const CaptureServiceOptions& options, ClockSource& clock,
                 CaptureWorker::Encode encode, CaptureOutbox& outbox);
  ~CaptureService() override;

  // For DrainOptions.
  FinishedSpans& finished_spans() { return finished_; }
  // Whose tracepoints are asked for; null: nobody's yet, or not any more.
  void set_agent(Agent* agent);
  // As CaptureWorker has it.
  void set_limits(const CaptureWorkerOptions& worker) { worker_->set_limits(worker); }

  void thresholds(ingest::Thresholds thresholds) override;
  void capture(CaptureRequest request, std::function<void(CaptureAnswer)> answer) override;
  void tracepoints(TracepointRequest request, std::function<void(TracepointAnswer)> answer) override;

  void tracepoint_rules(std::vector<TracepointRule> rules) override;

  void taken(const std::shared_ptr<Program>& program) override { programs_.taken(program); }
  void looked_after(uint64_t now_nano, const Programs& programs, const DetailPools& details) override {
    programs_.looked_after(programs, details);
    if (agent_ != nullptr) tracepoint_requests_.look(*agent_, now_nano);
  }

 private:
  using ProgramPtr = std::shared_ptr<const WatchedProgram>;
  struct Target;

  // ---- on the watch's thread
  bool overdue(const ProgramPtr& program, std::vector<OverdueSpan> spans) override;
  bool asked(const ProgramPtr& program, std::vector<ProgramTrigger> triggers) override;
  void missed(uint64_t triggers) override;
  void add_overdue(CaptureJob& job, const OverdueSpan& span);
  bool copy_all(CaptureJob& job);
  void remember(const CaptureJob& job, const std::vector<OverdueSpan>& spans);

  // ---- on the loop
  void use(std::shared_ptr<const Thresholds> current);
  void finished(uint32_t program, std::vector<FinishedSpan> spans, const LeftOutSpans& left_out) override;
  bool take_rest(const FinishedSpan& span, CaptureJob& job, bool& goes_on);
  bool finished_one(const ProgramPtr& program, FinishedSpan span);
  void program_changed(const ProgramPtr& program);
  void program_gone(const WatchedProgram& program);
  void crashed(const ProgramPtr& program, std::vector<ThreadSpan> open);
  std::vector<Target> targets_of(const CaptureRequest& request, uint64_t now_nano) const;
  void targets_of_trace(const TraceId& trace_id, uint64_t now_nano, std::vector<Target>& targets) const;
  void ask_for(const Target& target, const CaptureRequest& request, const std::shared_ptr<CaptureRequester>& requester);
  void made(CaptureWorker::Outcome outcome);
  void send(const CaptureJob& job, ReadyCapture capture);
  void settle(const CaptureJob& job, std::optional<SkipReason> skipped);

  // ---- from any thread
  // Of a trigger that is about how long an operation takes.
  struct Slowness {
    uint64_t operation = 0;  // operation_hash()
    uint64_t duration_nano = 0;
    bool goes_on = false;
  };
  bool admit(CaptureJob& job, CaptureSubject subject, const Slowness& slowness);
  bool submit(CaptureJob job);  // false: skipped
  // Before anything else is done about a trigger: the rings go around within milliseconds.
  void ring(const CaptureJob& job, uint32_t tid, uint64_t begin_nano, uint64_t at_nano = 0);
  void ring_for(const CaptureRequest& request, const Target& target);
  void skip(const CaptureJob& job, SkipReason reason);
  CaptureJob job_of(const ProgramPtr& program, uint64_t begin_nano, uint64_t end_nano) const;

  boost::asio::io_context& loop_;
  const CaptureServiceOptions options_;
  CaptureOutbox& outbox_;
  Agent* agent_ = nullptr;
  TracepointRequests tracepoint_requests_;
  std::vector<TracepointRule> early_rules_;  // said before there was an agent
  ThresholdBook book_;
  TraceMemory traces_;
  FinishedSpans finished_;
  WatchedPrograms programs_;
  TriggerLimits limits_;
  CapturedTraces captured_;
  std::set<uint32_t> requested_;                 // programs of which a request's capture is being made
  std::map<uint32_t, ProcessId> kernel_chosen_;  // of programs that are followed as long as they live
  KernelEvents kernel_;
  mutable SharedTimes times_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  // Last: their threads end first.
  std::unique_ptr<CaptureWorker> worker_;
  std::unique_ptr<OverdueWatch> watch_;
};

}  // namespace fathom::agent
