#include "node-agent/triggers/capture_worker.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "base/capture_window.h"
#include "base/time.h"

namespace fathom::agent {

namespace {

constexpr uint64_t kTimesUpdateNano = kNanosPerSecond;
// No job may wait for longer: until the end of its window, and for a program's first data.
constexpr uint64_t kLongestWaitNano = kLongestCaptureWindowNano + kNanosPerSecond;

uint64_t ready_nano(const CaptureJob& job) {
  return std::max(job.end_nano, job.first_data_by_nano);
}

bool lies_ahead(const CaptureJob& job, uint64_t now_nano) {
  return ready_nano(job) > now_nano;
}

}  // namespace

CaptureWorker::CaptureWorker(const CaptureWorkerOptions& options, SharedTimes& times, const Sources& sources,
                             Encode encode, Done done)
    : options_(options),
      times_(times),
      sources_(sources),
      encode_(std::move(encode)),
      done_(std::move(done)),
      thread_([this] { run(); }) {}

CaptureWorker::~CaptureWorker() {
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

// ---- from other threads ---------------------------------------------------------------------------------------------

std::optional<SkipReason> CaptureWorker::submit(CaptureJob& job) {
  uint64_t now_nano = now_monotonic_nano();
  {
    std::lock_guard lock(mutex_);
    bool ahead = lies_ahead(job, now_nano);
    assert(ready_nano(job) <= now_nano + kLongestWaitNano);
    auto alike = static_cast<size_t>(std::count_if(
        jobs_.begin(), jobs_.end(), [&](const CaptureJob& other) { return lies_ahead(other, now_nano) == ahead; }));
    const size_t most = ahead ? options_.most_waiting : options_.most_jobs;
    // Half of the places are reserved for triggers: other jobs are submitted again later, a trigger's is skipped.
    if (alike >= (job.owner == JobOwner::kTrigger ? most : most / 2)) {
      held_bytes_ -= held_bytes(std::exchange(job.slices, {}));
      return SkipReason::kBusy;
    }
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
  return std::nullopt;
}

void CaptureWorker::changed(const std::shared_ptr<const WatchedProgram>& program) {
  if (sources_.await_first_data(*program)) return;
  {
    std::lock_guard lock(mutex_);
    for (CaptureJob& job : jobs_) {
      if (job.program->serial != program->serial || !sources_.await_first_data(*job.program)) continue;
      job.program = program;
      job.first_data_by_nano = 0;
    }
  }
  changed_.notify_one();
}

void CaptureWorker::set_limits(const CaptureWorkerOptions& options) {
  options_.budget_bytes = options.budget_bytes;
  options_.most_held_bytes = options.most_held_bytes;
}

void CaptureWorker::post(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    works_.push_back(std::move(work));
  }
  changed_.notify_one();
}

bool CaptureWorker::reserve(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (held_bytes_ + bytes > options_.most_held_bytes) return false;
  held_bytes_ += bytes;
  return true;
}

void CaptureWorker::give_back(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  held_bytes_ -= bytes;
}

bool CaptureWorker::take_slice(CaptureJob& job, size_t place) {
  std::unique_ptr<Slice>& slice = job.slices[place];
  if (slice) return true;
  const SliceRequest request{.program = *job.program,
                             .begin_nano = job.begin_nano,
                             .end_nano = job.end_nano,
                             .reason = job.follow_reason,
                             .budget_bytes = options_.budget_bytes,
                             .times = times_};
  const uint64_t needed_bytes = sources_[place].needed_bytes(request);
  if (needed_bytes > 0 && !reserve(needed_bytes)) return false;
  slice = sources_[place].slice(request);
  assert(slice->held_bytes() <= needed_bytes);
  give_back(needed_bytes - slice->held_bytes());
  return true;
}

bool CaptureWorker::copy_now(CaptureJob& job) {
  job.slices.resize(sources_.size());
  bool all_copied = true;
  for (size_t place = 0; place < sources_.size(); ++place) {
    const Source& source = sources_[place];
    if (!source.copies_at_once()) continue;
    const bool is_copied = !source.awaits_first_data(*job.program) && take_slice(job, place);
    all_copied = all_copied && is_copied;
  }
  return all_copied;
}

bool CaptureWorker::take_all(CaptureJob& job) {
  job.slices.resize(sources_.size());
  bool has_room = true;
  for (size_t place = 0; place < sources_.size(); ++place) has_room = take_slice(job, place) && has_room;
  if (!job.open) job.open = job.program->open ? job.program->open->all_open() : std::vector<ThreadSpan>{};
  return has_room;
}

// ---- the thread -----------------------------------------------------------------------------------------------------

void CaptureWorker::run() {
  std::unique_lock lock(mutex_);
  bool worked = false;
  while (!stops_) {
    auto job = ready_job(now_monotonic_nano());
    // Alternate, so that neither captures nor posted work can delay the other for long.
    bool works = !works_.empty() && (job == jobs_.end() || !worked);
    worked = works;
    if (works) {
      std::function<void()> work = std::move(works_.front());
      works_.pop_front();
      lock.unlock();
      work();
    } else if (job != jobs_.end()) {
      CaptureJob next = std::move(*job);
      jobs_.erase(job);
      lock.unlock();
      make(std::move(next));
    } else {
      wait(lock);
      lock.unlock();
      times_.update();
    }
    lock.lock();
  }
}

std::deque<CaptureJob>::iterator CaptureWorker::ready_job(uint64_t now_nano) {
  auto first = jobs_.end();
  for (auto job = jobs_.begin(); job != jobs_.end(); ++job) {
    if (lies_ahead(*job, now_nano)) continue;
    if (job->owner == JobOwner::kTrigger) return job;
    if (first == jobs_.end()) first = job;
  }
  return first;
}

uint64_t CaptureWorker::next_ready_nano() const {
  uint64_t next_nano = UINT64_MAX;
  for (const CaptureJob& job : jobs_) next_nano = std::min(next_nano, ready_nano(job));
  return next_nano;
}

void CaptureWorker::wait(std::unique_lock<std::mutex>& lock) {
  uint64_t until_nano = std::min(next_ready_nano(), now_monotonic_nano() + kTimesUpdateNano);
  // now_monotonic_nano() is what steady_clock counts.
  std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(until_nano)};
  changed_.wait_until(lock, until);
}

void CaptureWorker::make(CaptureJob job) {
  Outcome outcome{.job = std::move(job)};
  try_to_make(outcome);
  // Freeing the slices can take long, so done_() comes first.
  std::vector<std::unique_ptr<Slice>> slices = std::exchange(outcome.job.slices, {});
  outcome.job.open.reset();
  const std::shared_ptr<const WatchedProgram> program = outcome.job.program;
  const FollowReason reason = outcome.job.follow_reason;
  done_(std::move(outcome));
  const uint64_t bytes = held_bytes(slices);
  slices.clear();
  give_back(bytes);
  if (reason == FollowReason::kRequest) sources_.forget(program->process, reason);
}

void CaptureWorker::try_to_make(Outcome& outcome) {
  CaptureJob& job = outcome.job;
  const bool has_room = take_all(job);
  const bool has_any = !job.open->empty() || std::ranges::any_of(job.slices, [](const auto& slice) {
    return slice && slice->was_recorded();
  });
  outcome.skipped = !has_room ? SkipReason::kMemory : !has_any ? SkipReason::kNoDetail : SkipReason::kFailed;
  if (!has_room || !has_any) return;
  TickTimes times = times_.copy();
  Result<MadeCapture> made = encode_(job, times);
  if (!made) return;
  Sha256 hash = sha256(made->content);
  outcome.made = ReadyCapture{.made = *std::move(made),
                              .hash = hash,
                              .start_unix_nano = times.unix_nano(pool::Clock::kMonotonic, job.begin_nano),
                              .end_unix_nano = times.unix_nano(pool::Clock::kMonotonic, job.end_nano)};
}

}  // namespace fathom::agent
