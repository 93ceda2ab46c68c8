#include "store/captures/captures.h"

#include <algorithm>
#include <chrono>

#include "base/thread_priority.h"
#include "store/captures/capture_counters.h"
#include "store/rocks/loss_starts.h"

namespace fathom::store {

namespace {

constexpr uint64_t kLongestPauseNano = 1'000'000'000;
// What a query holds of a row, about: names and losses are as long as whoever sent it likes.
uint64_t held_bytes(const CaptureInfo& info) {
  uint64_t bytes = sizeof(StoredCapture) + info.node_name.size() + info.service.size() + info.operation.size();
  for (const CaptureLoss& loss : info.losses) bytes += sizeof loss + loss.name.size();
  return bytes;
}

// What the caller holds; the store's own share of the upload may outlive it, and the other way round.
class UploadWriter : public CaptureWriter {
 public:
  explicit UploadWriter(std::shared_ptr<CaptureUpload> upload) : upload_(std::move(upload)) {}
  ~UploadWriter() override { upload_->abandon(); }
  bool is_stored_already() const override { return upload_->is_stored_already(); }
  uint64_t size_bytes() const override { return upload_->size_bytes(); }
  Result<> append(uint64_t offset, std::string_view bytes) override { return upload_->append(offset, bytes); }
  AppendResult finish() override { return upload_->finish(); }

 private:
  std::shared_ptr<CaptureUpload> upload_;
};

Error reject(const char* reason, Error error) {
  rejected_captures(reason).add();
  return error;
}

// The narrowest of the series that have all that is asked for.
std::string series_for(const CaptureFilter& filter) {
  if (filter.trace_id) return capture_keys::trace_series(*filter.trace_id);
  if (filter.process) return capture_keys::process_series(*filter.process);
  if (filter.service) return capture_keys::service_series(*filter.service);
  return capture_keys::all_series();
}

}  // namespace

Captures::Captures(Engine& engine)
    : engine_(engine), keeper_(engine), wake_(engine.options.scheduler), thread_(engine.options.scheduler) {
  register_capture_counters();
}

Captures::~Captures() {
  stop();
}

Result<> Captures::start() {
  if (Result<> recovered = keeper_.recover(); !recovered) return recovered;
  thread_.start([this] { run(); });
  return {};
}

void Captures::stop() {
  std::vector<std::shared_ptr<CaptureUpload>> open;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    open.swap(uploads_);
  }
  wake_.notify_all();
  for (const auto& upload : open) upload->close();
  thread_.join();
}

Result<std::unique_ptr<CaptureWriter>> Captures::begin(const CaptureInfo& info) {
  if (Result<> checked = check(info); !checked) return reject("invalid", checked.error());
  if (is_skipped(info.id)) return reject("invalid", invalid("a capture has an id of a skipped one"));
  Result<std::shared_ptr<CaptureUpload>> upload = open_upload(info);
  if (!upload) return upload.error();
  std::unique_ptr<CaptureWriter> writer = std::make_unique<UploadWriter>(*upload);
  std::lock_guard lock(mutex_);
  // Otherwise the writer would outlive what it writes to.
  if (stopping_) (*upload)->close();
  if (!stopping_) uploads_.push_back(*std::move(upload));
  return writer;
}

Result<std::shared_ptr<CaptureUpload>> Captures::open_upload(const CaptureInfo& info) {
  Result<bool> stored = is_stored(info);
  if (!stored) return stored.error();
  CaptureInfo announced = info;
  announced.received_unix_nano = engine_.now();
  const bool shares = !*stored && keeper_.has_content(info);
  if (shares) {
    if (Result<> room = keeper_.room_for(0); !room) return room.error();
  }
  if (*stored || shares) return std::make_shared<CaptureUpload>(keeper_, announced, nullptr);
  if (Result<> admitted = admit(info); !admitted) return admitted.error();
  Result<std::unique_ptr<BlobWriter>> content = keeper_.begin_content();
  if (!content) {
    refused_captures("write_failed").add();
    return content.error();
  }
  return std::make_shared<CaptureUpload>(keeper_, announced, *std::move(content));
}

// By the hash that was announced, if any was.
Result<bool> Captures::is_stored(const CaptureInfo& info) const {
  if (info.sha256.is_zero()) return false;
  Result<std::optional<CaptureInfo>> stored = keeper_.table().get(info.id);
  if (!stored) return stored.error();
  if (!*stored) return false;
  if ((*stored)->sha256 == info.sha256) return !keeper_.is_damaged(info.sha256);
  return reject("other_content", invalid("a capture with this id and other content is stored"));
}

Result<> Captures::admit(const CaptureInfo& info) {
  if (info.size_bytes > keeper_.most_bytes()) {
    return reject("too_large", exhausted("a capture of " + std::to_string(info.size_bytes) + " bytes is too large; " +
                                         std::to_string(keeper_.most_bytes()) + " are the most"));
  }
  if (Result<> room = keeper_.room_for(info.size_bytes); !room) return room;
  std::lock_guard lock(mutex_);
  std::erase_if(uploads_, [](const auto& upload) { return upload->is_over(); });
  if (uploads_.size() < engine_.options.capture_writers) return {};
  refused_captures("writers").add();
  return unavailable("too many captures are being uploaded; try again");
}

Result<StoredCapture> Captures::info(const CaptureId& id) {
  Result<std::optional<CaptureInfo>> info = keeper_.table().get(id);
  if (!info) return info.error();
  if (!*info || is_skipped(id)) return not_found("capture " + id.hex() + " is not stored");
  return stored(**info);
}

// Rows have the stamp of the age clock; readers get the wall clock's time.
StoredCapture Captures::stored(const CaptureInfo& info) const {
  StoredCapture stored{info, keeper_.is_damaged(info.sha256)};
  stored.info.received_unix_nano = engine_.clock->unix_of(info.received_unix_nano);
  return stored;
}

Result<> Captures::each_of_trace(const TraceId& trace_id, CaptureTable::Kind kind, QueryBudget& budget,
                                 const Visit& visit) const {
  if (trace_id.is_zero()) return {};
  const auto pay_and_visit = [&](const CaptureInfo& info) -> Result<bool> {
    if (Result<> spent = budget.spend(held_bytes(info)); !spent) return spent.error();
    return visit(info);
  };
  return keeper_.table().ascending(capture_keys::trace_series(trace_id), kind, pay_and_visit);
}

Result<std::vector<StoredCapture>> Captures::of_trace(const TraceId& trace_id, QueryBudget& budget) {
  std::vector<StoredCapture> found;
  Result<> read = each_of_trace(trace_id, CaptureTable::Kind::kCapture, budget, [&](const CaptureInfo& info) {
    found.push_back(stored(info));
    return true;
  });
  if (!read) return read.error();
  return found;
}

Result<std::vector<SkippedCapture>> Captures::skipped_of_trace(const TraceId& trace_id, QueryBudget& budget) {
  std::vector<SkippedCapture> found;
  Result<> read = each_of_trace(trace_id, CaptureTable::Kind::kSkipped, budget, [&](const CaptureInfo& info) {
    found.push_back(skipped_of(info));
    return found.size() < kMostSkippedOfTrace;
  });
  if (!read) return read.error();
  return found;
}

Result<> Captures::put_skipped(const std::vector<SkippedCapture>& skipped) {
  std::vector<CaptureInfo> headers;
  for (const SkippedCapture& one : skipped) {
    CaptureInfo header = header_of(one);
    header.id = skipped_id(0);
    header.received_unix_nano = engine_.now();
    const bool is_valid = check(header).ok() && !header.trace_id.is_zero();
    if (is_valid) headers.push_back(std::move(header));
  }
  dropped_skipped("invalid").add(skipped.size() - headers.size());
  return keeper_.keep_skipped(std::move(headers));
}

Result<std::vector<TraceId>> Captures::traces(QueryBudget& budget) {
  std::vector<TraceId> found;
  Result<> read = keeper_.table().traces([&](const TraceId& id) -> Result<> {
    found.push_back(id);
    return budget.spend(sizeof id);
  });
  if (!read) return read.error();
  return found;
}

Result<CapturePage> Captures::find(const CaptureFilter& filter, size_t limit,
                                   const std::optional<CaptureCursor>& cursor, QueryBudget& budget) {
  CapturePage page;
  if (limit == 0) return page;
  bool more = false;
  auto add = [&](const CaptureInfo& info) -> Result<bool> {
    if (Result<> spent = budget.spend(held_bytes(info)); !spent) return spent.error();
    if (!filter.matches(info)) return true;
    more = page.rows.size() == limit;
    if (!more) page.rows.push_back(stored(info));
    return !more;
  };
  Result<> read = keeper_.table().descending(series_for(filter), filter.range, cursor, add);
  if (!read) return read.error();
  if (more) page.next = CaptureCursor{page.rows.back().info.start_unix_nano, page.rows.back().info.id};
  return page;
}

Result<std::string> Captures::read(const CaptureId& id, uint64_t offset, size_t size) {
  if (is_skipped(id)) return not_found("capture " + id.hex() + " is not stored");
  return keeper_.read(id, offset, size);
}

Result<> Captures::drop_before(uint64_t received_unix_nano) {
  return keeper_.drop_before(received_unix_nano);
}

CaptureStats Captures::stats() {
  CaptureStats stats = keeper_.stats();
  if (const uint64_t oldest = stats.oldest_received_unix_nano) {
    stats.oldest_received_unix_nano = engine_.clock->unix_of(oldest);
  }
  std::lock_guard lock(mutex_);
  for (const auto& upload : uploads_) stats.writers += !upload->is_over();
  return stats;
}

std::vector<Loss> Captures::losses() {
  return known_losses(engine_);
}

void Captures::run() {
  yield_to_requests();
  auto pause = std::chrono::nanoseconds(std::min(kLongestPauseNano, engine_.options.maintenance_interval_nano));
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    tick();
    lock.lock();
    wake_.wait_for(lock, pause, [this] { return stopping_; });
  }
}

void Captures::tick() {
  end_idle_uploads();
  const uint64_t age = engine_.options.retention_age_nano;
  // What fails is tried again with the next tick.
  if (age != 0) {
    [[maybe_unused]] Result<> dropped = keeper_.drop_before(engine_.clock->cutoff(age));
  }
  while (keeper_.has_unreferenced() && !is_stopping()) keeper_.remove_unreferenced();
}

bool Captures::is_stopping() const {
  std::lock_guard lock(mutex_);
  return stopping_;
}

void Captures::end_idle_uploads() {
  std::lock_guard lock(mutex_);
  std::erase_if(uploads_,
                [this](const auto& upload) { return upload->end_if_idle(engine_.options.capture_idle_nano); });
}

}  // namespace fathom::store
