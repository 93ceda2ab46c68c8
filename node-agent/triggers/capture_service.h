// CaptureService: makes captures for triggers and requests, and sends them to the collector.
//
// Purpose: joins the parts: the list of programs, each kind of trigger, the worker that makes captures, the sources of
// their data, and the outbox that sends them. docs/triggers.md has the rules. Thread safety: none, belongs to the
// agent's loop. Ownership: what it refers to must outlive it; it must outlive the agent that it observes. Errors:
// skipped captures are counted by trigger and reason in fathom_agent_captures_skipped_total; the answer to a request
// has the reason as text.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "node-agent/agent/agent.h"
#include "node-agent/control.h"
#include "node-agent/triggers/capture_requests.h"
#include "node-agent/triggers/finished_trigger.h"
#include "node-agent/triggers/held_traces.h"
#include "node-agent/triggers/overdue_trigger.h"
#include "node-agent/triggers/overdue_watch.h"
#include "node-agent/triggers/provisional_captures.h"
#include "node-agent/triggers/tracepoint_requests.h"

namespace fathom::agent {

class CaptureService : public ControlHandler, public AgentObserver, private ProgramListener {
 public:
  CaptureService(boost::asio::io_context& loop, const CaptureServiceOptions& options, ClockSource& clock,
                 const Sources& sources, CaptureWorker::Encode encode, CaptureOutbox& outbox);
  ~CaptureService() override;

  // For DrainOptions.
  FinishedSpans& finished_spans() { return finished_; }
  // The agent that handles tracepoint requests; null: it does not exist yet, or is being destroyed.
  void set_agent(Agent* agent);
  // For the agent's shutdown: sends the captures that wait for the end of their minute, and reports skipped ones.
  void finish();
  // As CaptureWorker has it.
  void set_limits(const CaptureWorkerOptions& worker) { worker_->set_limits(worker); }

  void thresholds(ingest::Thresholds thresholds) override;
  void capture(CaptureRequest request, std::function<void(CaptureAnswer)> answer) override;
  void tracepoints(TracepointRequest request, std::function<void(TracepointAnswer)> answer) override;
  void tracepoint_rules(std::vector<TracepointRule> rules) override;

  void taken(const std::shared_ptr<Program>& program) override { programs_.taken(program); }
  void looked_after(uint64_t now_nano, const Programs& programs, const DetailPools& details) override {
    programs_.looked_after(programs, details);
    for (const auto& listener : listeners_) listener->step(now_nano);
    provisional_.step(now_nano);
    held_.step(now_nano);
    report_skipped(now_nano);
    if (agent_ != nullptr) tracepoint_requests_.look(*agent_, now_nano);
  }

 private:
  using ProgramPtr = std::shared_ptr<const WatchedProgram>;

  void changed(const ProgramPtr& program) override;
  void ended(const ProgramPtr& program) override { watch_->look_last(program); }
  void gone(const WatchedProgram& program) override;

  CaptureWorker::Done on_loop();
  NotMade take_back_of();
  void add(std::unique_ptr<ProgramListener> listener);
  void use(std::shared_ptr<const Thresholds> current);
  void made(CaptureWorker::Outcome outcome);
  void skipped(const CaptureJob& job, SkipReason reason);
  void announce(const CaptureSubject& subject, const ProgramWindow& own, uint64_t hold_nano);
  void hold(const ProvisionalCaptures::HandedOn& handed_on);
  void report_skipped(uint64_t now_nano);
  void send(const CaptureSubject& subject, const MadeContent& content);

  boost::asio::io_context& loop_;
  const CaptureServiceOptions options_;
  CaptureOutbox& outbox_;
  Agent* agent_ = nullptr;
  TracepointRequests tracepoint_requests_;
  std::vector<TracepointRule> early_rules_;  // received before set_agent()
  uint64_t next_report_nano_ = 0;
  ThresholdBook book_;
  TraceMemory traces_;
  WatchedPrograms programs_;
  SharedTimes times_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  // Each part uses the ones above it; the threads of the worker and of the watch end first.
  std::unique_ptr<CaptureWorker> worker_;
  CaptureAdmission admission_;
  OverdueTrigger overdue_trigger_;
  ProvisionalCaptures provisional_;
  HeldTraces held_;
  FinishedTrigger finished_trigger_;
  CaptureRequests requests_;
  FinishedSpans finished_;
  std::vector<std::unique_ptr<ProgramListener>> listeners_;
  std::unique_ptr<OverdueWatch> watch_;
};

}  // namespace fathom::agent
