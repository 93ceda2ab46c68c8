#include "collector/control/control_router.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace fathom::collector {

namespace {

constexpr size_t kMostTasks = 4096;
constexpr const char* kStopping = "the server is ending, or too busy";

}  // namespace

void ControlRouter::start(NodePort& port, ThresholdLearner& learner) {
  std::lock_guard lock(mutex_);
  running_ = true;
  thread_ = std::thread([this, &port, &learner] {
    ControlLoop loop(options_, port, learner);
    run(loop);
  });
}

void ControlRouter::stop() {
  {
    std::lock_guard lock(mutex_);
    running_ = false;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool ControlRouter::post(Task task) {
  std::lock_guard lock(mutex_);
  if (!running_ || tasks_.size() >= kMostTasks) return false;
  tasks_.push_back(std::move(task));
  changed_.notify_all();
  return true;
}

void ControlRouter::hear(Task task) {
  if (!post(std::move(task))) ControlMetrics::get().lost_answers.add();
}

bool ControlRouter::running() {
  std::lock_guard lock(mutex_);
  return running_;
}

std::deque<ControlRouter::Task> ControlRouter::next_tasks(uint64_t until_monotonic_nano) {
  uint64_t now = options_.now_monotonic_nano();
  std::chrono::nanoseconds patience(until_monotonic_nano - std::min(until_monotonic_nano, now));
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return !tasks_.empty() || !running_; });
  return std::exchange(tasks_, {});
}

void ControlRouter::run(ControlLoop& loop) {
  while (running()) {
    for (const Task& task : next_tasks(loop.run_due())) task(loop);
  }
  for (const Task& task : next_tasks(0)) task(loop);  // whoever asked last is answered, too
  loop.end(kStopping);
}

// Counted before anything is sent: no answer can come too early to be waited for.
template <typename Answer>
RepliesDone<Answer> ControlRouter::counted(std::atomic<size_t>& open, RepliesDone<Answer> done) {
  ++open;
  return [&open, done = std::move(done)](Result<Replies<Answer>> replies) {
    --open;
    done(std::move(replies));
  };
}

void ControlRouter::capture(CaptureRequest request, RepliesDone<CaptureAnswer> done) {
  RepliesDone<CaptureAnswer> told = counted(open_captures_, std::move(done));
  bool posted = post([request = std::move(request), told](ControlLoop& loop) { loop.capture(request, told); });
  if (!posted) told(unavailable(kStopping));
}

void ControlRouter::tracepoints(TracepointRequest request, RepliesDone<TracepointAnswer> done) {
  RepliesDone<TracepointAnswer> told = counted(open_tracepoints_, std::move(done));
  bool posted = post([request = std::move(request), told](ControlLoop& loop) { loop.tracepoints(request, told); });
  if (!posted) told(unavailable(kStopping));
}

void ControlRouter::tracepoint_rules(const RulesDone& done) {
  if (!post([done](ControlLoop& loop) { done(loop.tracepoint_rules()); })) done(unavailable(kStopping));
}

void ControlRouter::node_connected(const NodeId& node) {
  hear([node](ControlLoop& loop) { loop.node_connected(node); });
}

void ControlRouter::node_gone(const NodeId& node) {
  hear([node](ControlLoop& loop) { loop.node_gone(node); });
}

void ControlRouter::answered(const NodeId& node, CaptureAnswer answer) {
  if (open_captures_ == 0) return;  // of a remote trigger, or too late
  hear([node, answer = std::move(answer)](ControlLoop& loop) { loop.answered(node, answer); });
}

void ControlRouter::answered(const NodeId& node, TracepointAnswer answer) {
  if (open_tracepoints_ == 0) return;
  hear([node, shared = std::make_shared<TracepointAnswer>(std::move(answer))](ControlLoop& loop) {
    loop.answered(node, std::move(*shared));
  });
}

void ControlRouter::slow_trace(const NodeId& node, ingest::SlowTrace trace) {
  hear([node, trace = std::move(trace)](ControlLoop& loop) { loop.slow_trace(node, trace); });
}

void ControlRouter::capture_begins(const NodeId& node, const store::CaptureInfo& info) {
  hear([node, info](ControlLoop& loop) { loop.capture_begins(node, info); });
}

void ControlRouter::set_skipped_sink(const PutSkipped& put) {
  hear([put](ControlLoop& loop) { loop.set_skipped_sink(put); });
}

}  // namespace fathom::collector
