// ControlRouter: ControlLoop on a thread of its own: what the agents' streams tell it never waits.
//
// Purpose: between the agents' streams, which must go on, and people's requests, which take seconds. Thread safety: all
// of it; `done` of requests is called on the router's thread and must not block. Ownership: port and learner outlive
// the router; the streams may hold it longer than that, as NodeAnswers, once stop() was called. Bounds: 4,096 things
// that were said and not looked at yet; more are dropped, and counted in fathom_lost_node_answers_total (the five
// seconds' turn then repairs what was missed). Answers that nobody waits for are not kept at all.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "collector/agents/control.h"
#include "collector/control/control_loop.h"

namespace fathom::collector {

class ControlRouter : public NodeAnswers {
 public:
  explicit ControlRouter(ControlOptions options = {}) : options_(std::move(options)) {}
  ~ControlRouter() override { stop(); }

  void start(NodePort& port, ThresholdLearner& learner);
  // Answers all who wait, and ends the thread. What comes later is refused, or not heard. Idempotent.
  void stop();

  void capture(CaptureRequest request, RepliesDone<CaptureAnswer> done);
  void tracepoints(TracepointRequest request, RepliesDone<TracepointAnswer> done);
  using RulesDone = std::function<void(Result<std::vector<TracepointRule>>)>;
  void tracepoint_rules(const RulesDone& done);

  void node_connected(const NodeId& node) override;
  void node_gone(const NodeId& node) override;
  void answered(const NodeId& node, CaptureAnswer answer) override;
  void answered(const NodeId& node, TracepointAnswer answer) override;
  void slow_trace(const NodeId& node, ingest::SlowTrace trace) override;
  void capture_begins(const NodeId& node, const store::CaptureInfo& info) override;
  void set_skipped_sink(const PutSkipped& put) override;

 private:
  using Task = std::function<void(ControlLoop&)>;

  bool post(Task task);
  void hear(Task task);  // counted when it cannot be
  template <typename Answer>
  RepliesDone<Answer> counted(std::atomic<size_t>& open, RepliesDone<Answer> done);
  void run(ControlLoop& loop);
  std::deque<Task> next_tasks(uint64_t until_monotonic_nano);
  bool running();

  const ControlOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool running_ = false;
  std::atomic<size_t> open_captures_{0};  // requests of people that are not done
  std::atomic<size_t> open_tracepoints_{0};
  std::thread thread_;
};

}  // namespace fathom::collector
