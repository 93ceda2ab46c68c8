#include "store/rocks/maintenance.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/log.h"
#include "base/metrics.h"
#include "base/time.h"
#include "store/rocks/keys.h"
#include "store/rocks/sealer.h"

namespace fathom::store {

namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(100);
constexpr auto kLongestPause = std::chrono::seconds(10);
constexpr auto kWatchInterval = std::chrono::seconds(1);
constexpr int kBackgroundNice = 5;

// Background threads yield to requests; a refusal to be nice is no fault.
void yield_to_requests() {
  [[maybe_unused]] int result = setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kBackgroundNice);
}

}  // namespace

Maintenance::Maintenance(Engine& engine, Committer& committer)
    : engine_(engine), committer_(committer), retention_(engine) {}

Maintenance::~Maintenance() {
  stop();
}

Result<> Maintenance::start() {
  if (Result<> recovered = retention_.recover(); !recovered) return recovered;
  watch_disk();
  sealing_ = std::thread([this] { run_sealing(); });
  watching_ = std::thread([this] { run_watching(); });
  return {};
}

void Maintenance::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  sealed_.notify_all();
  if (sealing_.joinable()) sealing_.join();
  if (watching_.joinable()) watching_.join();
}

void Maintenance::wake() {
  std::lock_guard lock(mutex_);
  wake_.notify_all();
}

void Maintenance::run_sealing() {
  yield_to_requests();
  auto pause = std::chrono::milliseconds(kFirstPause);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (engine_.views.get()->generations.size() < 2) {
      wake_.wait(lock, [this] { return stopping_ || engine_.views.get()->generations.size() >= 2; });
      continue;
    }
    lock.unlock();
    bool sealed = seal_oldest();
    lock.lock();
    sealed_.notify_all();
    pause = sealed ? kFirstPause : std::min<std::chrono::milliseconds>(pause * 2, kLongestPause);
    if (!sealed) wake_.wait_for(lock, pause, [this] { return stopping_; });
  }
}

bool Maintenance::seal_oldest() {
  std::lock_guard not_while_dropping(changing_segments_);
  ViewPtr view = engine_.views.get();
  std::shared_ptr<Generation> generation = view->generations.front();
  uint32_t next = view->segments.empty() ? 1 : view->segments.back()->id + 1;
  Result<SegmentInfo> info = seal({*generation, next, engine_.catalogue}, engine_.sealed(), view);
  {
    std::lock_guard lock(mutex_);
    seal_fault_ = info.ok() ? "" : info.error().message;
  }
  if (!info) {
    counter("fathom_seal_failures_total", "Attempts to seal that failed and are repeated").add();
    log_error("sealing failed, trying again: " + info.error().message);
    return false;
  }
  engine_.sealed_sequence = info->last_sequence;
  engine_.views.update([&](View& next_view) {
    next_view.generations.erase(next_view.generations.begin());
    next_view.segments.push_back(std::make_shared<SegmentInfo>(*info));
    next_view.snapshot = take_snapshot(engine_.database->db());
  });
  committer_.notify_sealed();
  delete_stage(*generation);
  return true;
}

void Maintenance::delete_stage(const Generation& generation) {
  rocksdb::WriteBatch batch;
  for (const Generation::Source& source : generation.sources()) {
    batch.SingleDelete(engine_.database->family(Family::kStage), keys::stage(source.sequence));
  }
  // Not synced, and a failure is no loss: a start ignores stage rows that a segment has.
  rocksdb::Status status = engine_.database->db().Write(rocksdb::WriteOptions(), &batch);
  if (!status.ok()) log_warning("cannot clear sealed rows from the stage yet: " + status.ToString());
}

void Maintenance::run_watching() {
  yield_to_requests();
  uint64_t next_retention = 0;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    watch_disk();
    if (uint64_t now = now_monotonic_nano(); now >= next_retention) {
      apply_retention();
      next_retention = now + engine_.options.maintenance_interval_nano;
    }
    lock.lock();
    wake_.wait_for(lock, kWatchInterval, [this] { return stopping_; });
  }
}

void Maintenance::watch_disk() {
  struct statvfs disk {};
  uint64_t free_bytes = 0;
  const std::string& path = engine_.options.path;
  rocksdb::Env* env = engine_.database->db().GetEnv();
  if (statvfs(path.c_str(), &disk) != 0 || !env->GetFreeSpace(path, &free_bytes).ok()) return;
  // The reserve is for sealing and compaction of what is already here; a small disk reserves a part of itself.
  uint64_t size = uint64_t{disk.f_blocks} * disk.f_frsize;
  uint64_t reserve = std::min(engine_.options.reserve_disk_bytes, size / 8);
  bool room = free_bytes >= reserve;
  bool was_writable = engine_.writable.load();
  gauge("fathom_disk_free_bytes", "Free space on the data directory's file system")
      .set(static_cast<int64_t>(free_bytes));
  if (!room && was_writable) log_warning("the disk is nearly full: writes are refused until there is room");
  if (room && !was_writable) {
    // RocksDB stops after a failed write until it is told that the fault is gone.
    rocksdb::Status status = engine_.database->db().Resume();
    room = status.ok();
    if (room) log_info("there is room again: writes are taken");
  }
  engine_.writable = room;
  gauge("fathom_store_writable", "1 while the store takes writes").set(room);
}

void Maintenance::apply_retention() {
  const RocksOptions& options = engine_.options;
  uint64_t now = engine_.now();
  if (options.retention_age_nano != 0 && now > options.retention_age_nano) {
    [[maybe_unused]] Result<> dropped = drop_before(now - options.retention_age_nano);
  }
  if (options.retention_bytes == 0) return;
  std::map<uint32_t, uint64_t> bytes;
  uint64_t total = 0;
  ViewPtr view = engine_.views.get();
  for (const SegmentInfoPtr& segment : view->segments) {
    bytes[segment->partition] += segment->bytes;
    total += segment->bytes;
  }
  uint32_t through = 0;
  for (const auto& [partition, size] : bytes) {
    if (total <= options.retention_bytes || partition >= view->generations.back()->partition()) break;
    total -= size;
    through = partition;
  }
  if (through != 0) {
    [[maybe_unused]] Result<> dropped = drop_partitions(through, "size");
  }
}

Result<> Maintenance::drop_before(uint64_t received_unix_nano) {
  std::map<uint32_t, uint64_t> newest;
  ViewPtr view = engine_.views.get();
  for (const SegmentInfoPtr& segment : view->segments) {
    uint64_t& at = newest[segment->partition];
    at = std::max(at, segment->last_received_unix_nano);
  }
  for (const auto& generation : view->generations) {
    auto lock = generation->read();
    if (generation->sources().empty()) continue;
    uint64_t& at = newest[generation->partition()];
    at = std::max(at, generation->sources().back().received_unix_nano);
  }
  uint32_t through = 0;
  for (const auto& [partition, at] : newest) {
    if (at >= received_unix_nano) break;
    through = partition;
  }
  return through == 0 ? Result<>() : drop_partitions(through, "age");
}

Result<> Maintenance::wait_sealed() {
  std::unique_lock lock(mutex_);
  auto idle = [this] { return engine_.views.get()->generations.size() < 2; };
  sealed_.wait(lock, [&] { return stopping_ || idle() || !seal_fault_.empty(); });
  if (idle()) return {};
  return unavailable(stopping_ ? "the store is closing" : "sealing fails for now: " + seal_fault_);
}

Result<> Maintenance::drop_partitions(uint32_t through, const char* reason) {
  // Rows in memory may belong to traces that lose their beginning; sealed, they are corrected like all others.
  committer_.rotate(through >= engine_.views.get()->generations.back()->partition());
  if (Result<> sealed = wait_sealed(); !sealed) return sealed;
  std::lock_guard not_while_sealing(changing_segments_);
  return retention_.drop_through(through, reason);
}

Result<> Maintenance::compact() {
  Database& database = *engine_.database;
  rocksdb::Status status = database.db().Flush(rocksdb::FlushOptions(),
                                               {database.family(Family::kStage), database.family(Family::kIdentity)});
  for (Family family : {Family::kStage, Family::kTrace, Family::kSlow, Family::kLatency}) {
    if (!status.ok()) break;
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    status = database.db().CompactRange(options, database.family(family), nullptr, nullptr);
  }
  return status.ok() ? Result<>() : Result<>(from_status(status, "compact"));
}

}  // namespace fathom::store
