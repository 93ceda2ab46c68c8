// The keeping half of SnapshotStore: publication, what is there at a start, retention.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/fd.h"
#include "base/log.h"
#include "base/thread_priority.h"
#include "query/snapshots/file_stamp.h"
#include "query/snapshots/results_sweep.h"
#include "query/snapshots/snapshot_counters.h"
#include "query/snapshots/snapshot_store.h"
#include "store/disk_reserve.h"

namespace fathom::query {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMostSnapshots = 10'000;
constexpr uint64_t kMostSummaryBytes = 128 << 20;
constexpr uint64_t kResultBytes = 1 << 30;  // of kept answers, where there is no limit
constexpr uint64_t kResultShare = 8;        // of the limit: what they may take

// A file of nothing takes a block of the disk all the same.
uint64_t charged_bytes(uint64_t bytes) {
  constexpr uint64_t kBlockBytes = 4096;
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

void remove_all_files(const std::string& directory) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) fs::remove(entry.path(), ignored);
}

}  // namespace

Result<> SnapshotStore::room_on_disk(uint64_t bytes) const {
  struct statvfs disk {};
  if (::statvfs(options_.path.c_str(), &disk) != 0) return {};  // writing will say what is wrong
  const uint64_t free = uint64_t{disk.f_bavail} * disk.f_frsize;
  const uint64_t reserve =
      2 * store::disk_reserve_bytes(options_.reserve_disk_bytes, uint64_t{disk.f_blocks} * disk.f_frsize);
  if (free >= bytes && free - bytes >= reserve) return {};
  refused_uploads("disk_nearly_full").add();
  return unavailable("the server's disk is nearly full");
}

Result<> SnapshotStore::publish(const UploadPiece& piece, const std::string& draft) {
  return piece.name.is_image ? publish_image(piece, draft) : publish_snapshot(piece, draft);
}

// A name that may not survive a power cut is taken back, unless an earlier upload has made the same name durable.
Result<> SnapshotStore::make_durable(const ContentName& name, const std::string& folder, const std::string& path) {
  Result<> synced = options_.sync_directory(options_.path + folder);
  if (synced) return {};
  refused_uploads("sync_failed").add();
  if (!is_stored(name)) ::unlink(path.c_str());
  return unavailable(synced.error().message);
}

// The index has a snapshot or an image only after its name is durable: what the index has is acknowledged without a
// further look.
Result<> SnapshotStore::publish_image(const UploadPiece& piece, const std::string& draft) {
  const Sha256 content = *Sha256::from_hex_text(piece.name.hex);
  const std::string path = directory_.image_path(content);
  std::lock_guard one_at_a_time(publishing_);
  if (::rename(draft.c_str(), path.c_str()) != 0) return unavailable(system_error("cannot name " + path).message);
  if (Result<> durable = make_durable(piece.name, "/images", path); !durable) return durable;
  std::lock_guard lock(mutex_);
  if (!index_.has_image(content)) stored_snapshot_images().add();
  index_.add_image(content, charged_bytes(piece.total), options_.clock->now());
  apply_retention();
  return {};
}

Result<SnapshotSummary> SnapshotStore::summary_of(const StoredSnapshot& stored, const std::string& path) const {
  std::lock_guard one_at_a_time(decoding_);
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return system_error("cannot open " + path);
  auto opened = snapshot::SnapshotFile::open(std::move(file), kMostServedMetadataBytes);
  if (!opened) return opened.error();
  return summarize(stored, opened->snapshot());
}

Result<> SnapshotStore::publish_snapshot(const UploadPiece& piece, const std::string& draft) {
  const SnapshotId id = *SnapshotId::from_hex_text(piece.name.hex);
  const uint64_t stamp = options_.clock->now();
  auto summary = summary_of({id, piece.total, options_.clock->unix_of(stamp), stamp}, draft);
  // Damage is the sender's, not ours.
  if (!summary && summary.error().code == ErrorCode::kCorrupt) return invalid(summary.error().message);
  if (!summary) return summary.error();
  if (auto stamped = write_file_stamp(draft, stamp); !stamped) {
    refused_uploads("sync_failed").add();
    return stamped;
  }
  std::lock_guard one_at_a_time(publishing_);
  if (auto named = directory_.publish(draft, id); !named) return unavailable(named.error().message);
  if (Result<> durable = make_durable(piece.name, "/snapshots", directory_.snapshot_path(id)); !durable) return durable;
  std::lock_guard lock(mutex_);
  if (auto known = index_.find(id); known != nullptr && known->damaged) index_.remove(id);
  if (index_.add(std::make_shared<const SnapshotSummary>(*std::move(summary)))) stored_snapshots().add();
  apply_retention();
  return {};
}

void SnapshotStore::run() {
  yield_to_requests();
  read_directory();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    tick();
    lock.lock();
    wake_.wait_for(lock, std::chrono::nanoseconds(options_.tick_nano), [this] { return stopping_; });
  }
}

void SnapshotStore::read_directory() {
  // Of a server that ended in between: nobody brings their rest.
  remove_all_files(options_.path + "/drafts");
  read_images();
  auto ids = directory_.list();
  if (!ids) log_warning("snapshots: " + ids.error().message);
  for (const SnapshotId& id : ids ? *ids : std::vector<SnapshotId>()) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    read_snapshot(id);
  }
  std::lock_guard lock(mutex_);
  read_ = true;
  wake_.notify_all();
}

// All of them count as cared for just now: whoever asked for one before the start still relies on it.
void SnapshotStore::read_images() {
  const uint64_t now = options_.clock->now();
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(options_.path + "/images", code)) {
    auto content = Sha256::from_hex_text(entry.path().filename().string());
    struct stat about {};
    if (!content || ::stat(entry.path().c_str(), &about) != 0) continue;
    std::lock_guard lock(mutex_);
    index_.add_image(*content, charged_bytes(static_cast<uint64_t>(about.st_size)), now);
  }
}

void SnapshotStore::read_snapshot(const SnapshotId& id) {
  const std::string path = directory_.snapshot_path(id);
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return;
  // A copy that lost the stamp must not be younger than everything that comes.
  const uint64_t stamp = std::min(file_stamp(about), options_.clock->now());
  const StoredSnapshot stored{id, static_cast<uint64_t>(about.st_size), options_.clock->unix_of(stamp), stamp};
  auto summary = summary_of(stored, path);
  if (!summary) {
    unreadable_snapshots().add();
    log_warning("snapshot " + id.hex() + ": " + summary.error().message);
    // It still takes room, and has its time.
    summary = SnapshotSummary{.id = id,
                              .bytes = stored.bytes,
                              .received_unix_nano = stored.received_unix_nano,
                              .received_stamp_nano = stored.received_stamp_nano};
    summary->damaged = true;
  }
  std::lock_guard lock(mutex_);
  index_.add(std::make_shared<const SnapshotSummary>(*std::move(summary)));
}

void SnapshotStore::wait_until_read() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return read_; });
}

void SnapshotStore::tick() {
  uploads_.end_idle();
  {
    std::lock_guard lock(mutex_);
    if (read_) apply_retention();
  }
  sweep();  // after retention, because answers go with their snapshots
}

void SnapshotStore::set_retention(const SnapshotOptions& options) {
  options_.most_bytes = options.most_bytes;
  options_.retention_age_nano = options.retention_age_nano;
  options_.reserve_disk_bytes = options.reserve_disk_bytes;
}

void SnapshotStore::sweep() {
  SweepRules rules{.is_stored = [this](const SnapshotId& id) {
    std::lock_guard lock(mutex_);
    return !read_ || index_.find(id) != nullptr;
  }};
  rules.most_bytes = options_.most_bytes == 0 ? kResultBytes : options_.most_bytes / kResultShare;
  Swept swept = sweep_results(options_.path + "/results", rules);
  dropped_snapshot_results().add(swept.dropped);
  std::lock_guard lock(mutex_);
  result_bytes_ = swept.kept_bytes;
}

bool SnapshotStore::beyond_budget() const {
  const SnapshotBytes& bytes = index_.bytes();
  if (index_.snapshots() > kMostSnapshots || bytes.memory > kMostSummaryBytes) return true;
  return options_.most_bytes != 0 && bytes.snapshots + bytes.named_images + result_bytes_ > options_.most_bytes;
}

void SnapshotStore::apply_retention() {
  const uint64_t age = options_.retention_age_nano;
  const uint64_t oldest_kept = age == 0 ? 0 : options_.clock->cutoff(age);
  while (SharedSummary oldest = index_.oldest()) {
    const bool aged = oldest->received_stamp_nano < oldest_kept;
    if (!aged && !beyond_budget()) break;
    drop(oldest, aged ? "age" : "size");
  }
  drop_images();
  show();
}

void SnapshotStore::drop(const SharedSummary& summary, const char* reason) {
  index_.remove(summary->id);
  ::unlink(directory_.snapshot_path(summary->id).c_str());
  dropped_snapshots(reason).add();
  dropped_snapshot_bytes(reason).add(summary->bytes);
}

void SnapshotStore::drop_images() {
  for (const Sha256& content : index_.superfluous_images(options_.clock->cutoff(options_.image_grace_nano))) {
    index_.remove_image(content);
    ::unlink(directory_.image_path(content).c_str());
    dropped_snapshot_images().add();
  }
}

void SnapshotStore::show() const {
  snapshots_kept().set(static_cast<int64_t>(index_.snapshots()));
  snapshot_bytes_kept().set(static_cast<int64_t>(index_.bytes().snapshots));
  snapshot_images_kept().set(static_cast<int64_t>(index_.images()));
  snapshot_image_bytes_kept().set(static_cast<int64_t>(index_.bytes().images()));
  snapshot_result_bytes_kept().set(static_cast<int64_t>(result_bytes_));
}

}  // namespace fathom::query
