// The committer's changes of generations that exist, and its look-ups of what older ones and segments have of a trace.
#include <set>

#include "base/log.h"
#include "store/rocks/committer.h"
#include "store/rocks/counters.h"

namespace fathom::store {

// The committer's thread does this: while it runs, no other thread replaces the generation that takes rows.
void Committer::revise_generations(size_t dropped, const std::function<void(View&)>& change) {
  std::unique_lock lock(mutex_);
  bool done = false;
  task_ = [&] {
    revise_now(dropped, change);
    done = true;
  };
  wake_.notify_one();
  sealed_.notify_all();
  rotated_.wait(lock, [&] { return done || (stopping_ && !is_running_task_); });
  task_ = nullptr;
  // The store is closing: its next start begins without what was dropped.
  if (!done) engine_.views.update(change);
}

void Committer::run_task(std::unique_lock<std::mutex>& lock) {
  if (!task_) return;
  const std::function<void()> task = std::exchange(task_, nullptr);
  is_running_task_ = true;
  lock.unlock();
  task();
  lock.lock();
  is_running_task_ = false;
  rotated_.notify_all();
}

void Committer::revise_now(size_t dropped, const std::function<void(View&)>& change) {
  const uint32_t oldest = engine_.live->oldest();
  auto next = std::make_shared<View>(*engine_.views.get());
  change(*next);
  std::vector<std::shared_ptr<Generation>> generations = std::exchange(next->generations, {});
  SealedReader sealed(engine_.sealed(), next, *budget_);
  std::vector<std::shared_ptr<Generation>> revised;
  for (size_t i = dropped; i < generations.size(); ++i) {
    const Generation& generation = *generations[i];
    const bool moves = generation.partition() < oldest;
    if (moves) mark_used(generation);
    auto find = [&](const TraceId& id) { return find_older(id, sealed, revised); };
    revised.push_back(moves || generation.is_outdated(oldest)
                          ? generation.revised(std::max(generation.partition(), oldest), oldest, find)
                          : generations[i]);
  }
  hot_ = revised.back();
  next->generations = std::move(revised);
  engine_.views.update([&](View& view) { view = *next; });
  engine_.live->set_corrected();
  older_.reset();
}

// A generation that moves takes its operations along into the oldest partition.
void Committer::mark_used(const Generation& generation) {
  std::set<uint32_t> operations;
  for (const Generation::Row& row : generation.rows()) operations.insert(row.operation);
  for (const uint32_t operation : operations) engine_.catalogue.mark_used(operation, engine_.live->oldest());
}

std::optional<TraceExtent> Committer::find_older(const TraceId& id) {
  ViewPtr view = engine_.views.get();
  if (!older_ || &older_->view() != view.get()) {
    older_ = std::make_unique<SealedReader>(engine_.sealed(), view, *budget_);
  }
  return find_older(id, *older_, Generations(view->generations).first(view->generations.size() - 1));
}

std::optional<TraceExtent> Committer::find_older(const TraceId& id, SealedReader& sealed, Generations generations) {
  for (auto it = generations.rbegin(); it != generations.rend(); ++it) {
    if (const Generation::Trace* trace = (*it)->find(id)) {
      return TraceExtent{trace->start_unix_nano, trace->end_unix_nano,
                         trace->first_sequence,  std::min((*it)->partition(), trace->oldest_partition),
                         trace->oversized,       trace->lookup_failed};
    }
  }
  Result<std::optional<TraceExtent>> extent = sealed_extent(id, sealed);
  if (!extent) {
    // Taken as grown, so that sealing looks again, and nothing wrong is written for good.
    trace_lookup_failures().add();
    log_error("cannot look up an older part of a trace: " + extent.error().message);
    return TraceExtent::unknown();
  }
  return *extent;
}

// Reads two rows of the trace index, however many parts the trace has.
Result<std::optional<TraceExtent>> Committer::sealed_extent(const TraceId& id, SealedReader& sealed) const {
  Result<std::optional<TracePart>> newest = sealed.newest_part(id);
  if (!newest) return newest.error();
  if (!*newest) return std::optional<TraceExtent>();
  Result<std::optional<TracePart>> first = sealed.part_from(id, 0, 0);
  if (!first) return first.error();
  // Asked after the look-ups: a summary that a drop has outdated meanwhile is looked up again when the drop is over.
  const uint32_t oldest = *first && engine_.live->are_corrected() ? (*first)->partition : 0;
  const TraceSummary& summary = (*newest)->summary;
  return std::optional(TraceExtent{summary.start_unix_nano, end_of(summary.start_unix_nano, summary.duration_nano),
                                   summary.first_sequence, oldest, summary.oversized});
}

}  // namespace fathom::store
