#include "collector/agents/capture_intake.h"

#include <utility>

#include "base/metrics.h"
#include "base/thread_priority.h"

namespace fathom::collector {

namespace {

using State = ingest::CaptureProgress::State;

constexpr size_t kTurnBytes = 1 << 20;  // of one upload, before another one has its turn
constexpr size_t kAroundPart = 256;     // bytes that a part takes besides its content, or somewhat less

Gauge& capture_budget_used() {
  return gauge("fathom_capture_budget_used_bytes", "Memory taken by captures' parts that are not written yet");
}

uint64_t bytes_of_skipped(const store::SkippedCapture& skipped) {
  return sizeof skipped + skipped.node_name.size() + skipped.service.size() + skipped.operation.size();
}

}  // namespace

Counter& lost_skipped_captures(std::string_view reason) {
  return counter("fathom_lost_skipped_captures_total",
                 "Reports of skipped captures that were dropped: their agent sent too many, or too many waited",
                 label("reason", reason));
}

class CaptureIntake::Upload {
 public:
  Upload(store::CaptureInfo what, bool is_stored, Tell teller)
      : info(std::move(what)), content_is_stored(is_stored), tell(std::move(teller)) {}

  const store::CaptureInfo info;
  const bool content_is_stored;  // as announced by the agent
  const Tell tell;

  // By the intake's lock.
  std::deque<Part> parts;
  uint64_t received_bytes = 0;
  bool scheduled = false;  // ready, or with a thread
  bool abandoned = false;
  bool has_work() const { return !parts.empty() || abandoned; }

  // Of the thread that is at it.
  std::unique_ptr<store::CaptureWriter> writer;
  bool begun = false;
  bool over = false;
};

CaptureIntake::CaptureIntake(CaptureIntakeOptions options, store::CaptureStore& store)
    : options_(options), store_(store), budget_(options.budget_bytes, &capture_budget_used()) {
  for (const char* reason : {"rate", "queue"}) lost_skipped_captures(reason);
  for (size_t i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { run(); });
}

CaptureIntake::~CaptureIntake() {
  stop();
}

void CaptureIntake::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : std::exchange(threads_, {})) thread.join();
}

std::shared_ptr<CaptureIntake::Upload> CaptureIntake::begin(store::CaptureInfo info, bool content_is_stored,
                                                            Tell tell) {
  auto upload = std::make_shared<Upload>(std::move(info), content_is_stored, std::move(tell));
  std::lock_guard lock(mutex_);
  schedule(upload);
  return upload;
}

bool CaptureIntake::take(const std::shared_ptr<Upload>& upload, std::string_view content) {
  Part part{"", budget_.open()};
  if (!part.memory.grow(content.size() + kAroundPart)) return false;
  part.content = content;
  std::lock_guard lock(mutex_);
  if (stopping_) return false;
  upload->received_bytes += content.size();
  upload->parts.push_back(std::move(part));
  schedule(upload);
  return true;
}

void CaptureIntake::abandon(const std::shared_ptr<Upload>& upload) {
  std::lock_guard lock(mutex_);
  // What is whole may as well be stored: the agent will hear of it when it begins again.
  if (upload->received_bytes == upload->info.size_bytes) return;
  upload->abandoned = true;
  upload->parts.clear();
  schedule(upload);
}

void CaptureIntake::put_skipped(std::vector<store::SkippedCapture> skipped) {
  std::lock_guard lock(mutex_);
  if (skipped_.empty()) skipped_since_nano_ = now_monotonic_nano();
  uint64_t lost = 0;
  for (store::SkippedCapture& one : skipped) {
    const bool has_room = !stopping_ && skipped_.size() < kMostSkipped && skipped_memory_.grow(bytes_of_skipped(one));
    lost += !has_room;
    if (has_room) skipped_.push_back(std::move(one));
  }
  lost_skipped_captures("queue").add(lost);
  wake_.notify_one();
}

// Uploads go first, because an agent waits for the answer to a capture. It does not wait for answers to reports.
bool CaptureIntake::are_skipped_due() const {
  if (skipped_.empty()) return false;
  return stopping_ || ready_.empty() || now_monotonic_nano() - skipped_since_nano_ >= options_.skipped_wait_nano;
}

// Writes all reports that arrived during the last write at once.
void CaptureIntake::store_skipped(std::unique_lock<std::mutex>& lock) {
  const std::vector<store::SkippedCapture> skipped = std::exchange(skipped_, {});
  const Reservation memory = std::exchange(skipped_memory_, budget_.open());
  lock.unlock();
  [[maybe_unused]] const Result<> kept = store_.put_skipped(skipped);  // the store counts what it does not keep
  lock.lock();
}

void CaptureIntake::schedule(const std::shared_ptr<Upload>& upload) {
  if (std::exchange(upload->scheduled, true)) return;
  ready_.push_back(upload);
  wake_.notify_one();
}

void CaptureIntake::run() {
  yield_to_questions();
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !ready_.empty() || !skipped_.empty(); });
    if (are_skipped_due()) {
      store_skipped(lock);
      continue;
    }
    if (ready_.empty()) return;  // stopping, and all uploads are done
    std::shared_ptr<Upload> upload = std::move(ready_.front());
    ready_.pop_front();
    if (stopping_) upload->abandoned = true;
    std::vector<Part> parts = next_parts(*upload);
    bool abandoned = std::exchange(upload->abandoned, false);
    lock.unlock();
    if (abandoned) upload->writer.reset(), upload->over = true;
    work(*upload, parts);
    lock.lock();
    upload->scheduled = false;
    if (upload->has_work()) schedule(upload);
  }
}

std::vector<CaptureIntake::Part> CaptureIntake::next_parts(Upload& upload) {
  std::vector<Part> parts;
  for (size_t bytes = 0; !upload.parts.empty() && bytes < kTurnBytes; upload.parts.pop_front()) {
    bytes += upload.parts.front().content.size();
    parts.push_back(std::move(upload.parts.front()));
  }
  return parts;
}

void CaptureIntake::work(Upload& upload, const std::vector<Part>& parts) {
  if (!upload.over && !std::exchange(upload.begun, true)) open(upload);
  if (!upload.over && !parts.empty()) write(upload, parts);
}

void CaptureIntake::open(Upload& upload) {
  Result<std::unique_ptr<store::CaptureWriter>> writer = store_.begin(upload.info);
  if (!writer) return end(upload, writer.error());
  upload.writer = *std::move(writer);
  if (upload.writer->is_stored_already()) return finish(upload);
  if (upload.content_is_stored) end(upload, State::kRetry, "the content is not stored any more; send it");
}

void CaptureIntake::write(Upload& upload, const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    Result<> taken = upload.writer->append(upload.writer->size_bytes(), part.content);
    if (!taken) return end(upload, taken.error());
  }
  uint64_t taken_bytes = upload.writer->size_bytes();
  // Before the syncs of the last step: meanwhile the agent may fill its window with the next capture.
  upload.tell({.id = upload.info.id, .state = State::kTaken, .taken_bytes = taken_bytes});
  if (taken_bytes == upload.info.size_bytes) finish(upload);
}

void CaptureIntake::finish(Upload& upload) {
  store::AppendResult result = upload.writer->finish();
  if (result.outcome == store::AppendOutcome::kDurable) return end(upload, State::kDurable, "");
  bool again = result.outcome == store::AppendOutcome::kRetryable;
  end(upload, again ? State::kRetry : State::kRefused, result.message);
}

void CaptureIntake::end(Upload& upload, const Error& error) {
  end(upload, error.code == ErrorCode::kUnavailable ? State::kRetry : State::kRefused, error.message);
}

void CaptureIntake::end(Upload& upload, State state, std::string message) {
  upload.over = true;
  uint64_t taken_bytes = upload.writer ? upload.writer->size_bytes() : 0;
  upload.writer.reset();
  upload.tell(
      {upload.info.id, state, taken_bytes, state == State::kRetry ? options_.retry_delay_nano : 0, std::move(message)});
}

}  // namespace fathom::collector
