#include "collector/agents/snapshot_intake.h"

#include <utility>

#include "base/metrics.h"
#include "base/thread_priority.h"
#include "collector/agents/snapshot_messages.h"

namespace fathom::collector {

namespace {

constexpr size_t kAroundTask = 512;  // bytes that a task takes besides its message, or somewhat less

Gauge& snapshot_budget_used() {
  return gauge("fathom_agent_snapshot_budget_used_bytes", "Memory taken by agents' pieces of snapshots that wait");
}
Counter& answered(std::string_view outcome) {
  return counter("fathom_agent_snapshot_pieces_total", "Agents' pieces of snapshots and images, by their answer",
                 label("outcome", outcome));
}
void list_metrics() {
  for (const char* outcome : {"taken", "retry", "refused"}) answered(outcome).add(0);
}

}  // namespace

SnapshotIntake::SnapshotIntake(SnapshotIntakeOptions options, SnapshotSink* sink)
    : options_(options), sink_(sink), budget_(options.budget_bytes, &snapshot_budget_used()) {
  list_metrics();
  for (size_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { run(); });
}

SnapshotIntake::~SnapshotIntake() {
  stop();
}

void SnapshotIntake::stop() {
  std::deque<Task> left;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    left.swap(tasks_);
  }
  wake_.notify_all();
  for (Task& task : left) task.respond(not_now(task.is_piece, "the collector is ending"));
  for (std::thread& thread : std::exchange(threads_, {})) thread.join();
}

void SnapshotIntake::put(std::string message, Respond respond) {
  add(std::move(message), true, std::move(respond));
}

void SnapshotIntake::missing(std::string message, Respond respond) {
  add(std::move(message), false, std::move(respond));
}

void SnapshotIntake::add(std::string message, bool is_piece, Respond respond) {
  Task task{std::move(message), budget_.open(), is_piece, std::move(respond)};
  if (!task.memory.grow(task.message.size() + kAroundTask)) {
    return task.respond(not_now(is_piece, "the collector has too many snapshots under way"));
  }
  {
    std::lock_guard lock(mutex_);
    if (!stopping_) {
      tasks_.push_back(std::move(task));
      return wake_.notify_one();
    }
  }
  task.respond(not_now(is_piece, "the collector is ending"));
}

void SnapshotIntake::run() {
  yield_to_requests();
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    work(std::move(task));
    lock.lock();
  }
}

void SnapshotIntake::work(Task task) {
  Result<std::string> reply = task.is_piece ? put_now(task.message) : missing_now(task.message);
  task.memory.release();
  task.respond(std::move(reply));
}

Result<std::string> SnapshotIntake::put_now(std::string_view message) {
  auto piece = parse_snapshot_piece(message);
  if (!piece) return piece.error();
  if (sink_ == nullptr) return not_now(true, "this server keeps no snapshots now");
  auto taken = sink_->take(*piece);
  const bool may_pass = !taken && taken.error().code == ErrorCode::kUnavailable;
  answered(taken ? "taken" : may_pass ? "retry" : "refused").add();
  return piece_reply(taken, options_.retry_delay_nano);
}

Result<std::string> SnapshotIntake::missing_now(std::string_view message) {
  auto names = parse_image_names(message);
  if (!names) return names.error();
  if (sink_ == nullptr) return missing_images_retry(options_.retry_delay_nano);
  return missing_images_reply(sink_->missing_images(*names));
}

std::string SnapshotIntake::not_now(bool is_piece, const std::string& why) const {
  if (!is_piece) return missing_images_retry(options_.retry_delay_nano);
  answered("retry").add();
  return piece_reply(unavailable(why), options_.retry_delay_nano);
}

}  // namespace fathom::collector
