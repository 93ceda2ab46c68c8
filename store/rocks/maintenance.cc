#include "store/rocks/maintenance.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/log.h"
#include "base/metrics.h"
#include "base/thread_priority.h"
#include "base/time.h"
#include "store/rocks/counters.h"
#include "store/rocks/disk_space.h"
#include "store/rocks/keys.h"
#include "store/rocks/sealer.h"

namespace fathom::store {

namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(100);
constexpr auto kLongestPause = std::chrono::seconds(10);
constexpr auto kWatchInterval = std::chrono::seconds(1);
constexpr uint64_t kUnmergedFiles = 32;

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
  retaining_ = std::thread([this] { run_retention(); });
  return {};
}

void Maintenance::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  sealed_.notify_all();
  engine_.database->stop_compacting();
  if (sealing_.joinable()) sealing_.join();
  if (watching_.joinable()) watching_.join();
  if (retaining_.joinable()) retaining_.join();
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
    if (compaction_is_behind()) {
      // Sealing waits, then writes do, and at last senders are told to: look-ups stay fast however much comes in.
      wake_.wait_for(lock, kFirstPause, [this] { return stopping_; });
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

// Never while writes are refused: then compaction may be what cannot run, and sealing must find out and say so.
bool Maintenance::compaction_is_behind() {
  return engine_.writable.load() && engine_.database->unmerged_files(Family::kTrace) > kUnmergedFiles;
}

bool Maintenance::seal_oldest() {
  std::lock_guard not_while_dropping(changing_segments_);
  ViewPtr view = engine_.views.get();
  std::shared_ptr<Generation> generation = view->generations.front();
  uint32_t number = engine_.last_segment.load() + 1;
  SegmentOptions segment_options{.listed_keys = engine_.options.listed_attribute_keys};
  Result<SegmentInfo> info = seal({*generation, number, engine_.catalogue, segment_options}, engine_.sealed(), view);
  {
    std::lock_guard lock(mutex_);
    seal_fault_ = info.ok() ? "" : info.error().message;
  }
  if (!info) {
    seal_failures().add();
    log_error("sealing failed, trying again: " + info.error().message);
    return false;
  }
  engine_.last_segment = number;
  engine_.sealed_sequence = info->last_sequence;
  // Before the view's snapshot, which would keep the deleted rows alive until the next one.
  delete_stage(*generation);
  engine_.views.update([&](View& next_view) {
    next_view.generations.erase(next_view.generations.begin());
    next_view.segments.push_back(std::make_shared<SegmentInfo>(*info));
    next_view.snapshot = take_snapshot(engine_.database->db());
  });
  committer_.notify_sealed();
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
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    watch_disk();
    lock.lock();
    wake_.wait_for(lock, kWatchInterval, [this] { return stopping_; });
  }
}

// Apart from the watching of the disk: dropping waits for sealing, and sealing may wait for the disk.
void Maintenance::run_retention() {
  yield_to_requests();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    apply_retention();
    lock.lock();
    wake_.wait_for(lock, std::chrono::nanoseconds(engine_.options.maintenance_interval_nano),
                   [this] { return stopping_; });
  }
}

void Maintenance::watch_disk() {
  engine_.database->measure_log();
  std::optional<DiskSpace> space = measure_disk(engine_);
  if (!space) return;
  bool room = space->has_room_for(0);
  bool was_writable = engine_.writable.load();
  gauge("fathom_disk_free_bytes", "Free space on the data directory's file system")
      .set(static_cast<int64_t>(space->free_bytes));
  if (!room) refuse_writes(engine_, *space);
  if (room) {
    // RocksDB stops after a failed write, its own or ours, until it is told that the fault is gone. Where nothing is
    // stopped this does nothing. Not while a segment is published: see Database::may_ingest().
    std::lock_guard not_while_sealing(changing_segments_);
    rocksdb::Status status = engine_.database->db().Resume();
    room = status.ok();
    if (room && !was_writable) log_info("there is room again: writes are taken");
    if (!room) log_warning("writes are refused: " + status.ToString());
  }
  if (room && !engine_.database->may_ingest() && engine_.options.on_unrecoverable) {
    engine_.options.on_unrecoverable("a fault of the disk has stopped RocksDB; only opening the store again helps");
  }
  if (room) engine_.database->ballast().take_on();
  set_writable(engine_, room);
}

void Maintenance::apply_retention() {
  const RocksOptions& options = engine_.options;
  uint64_t now = engine_.now();
  if (options.retention_age_nano != 0 && now > options.retention_age_nano) {
    [[maybe_unused]] Result<> dropped = drop_before(now - options.retention_age_nano);
  }
  forget_operations();
  if (options.retention_bytes != 0) keep_to_size();
  if (leftovers_.exchange(false) && !reclaim()) leftovers_ = true;
}

void Maintenance::keep_to_size() {
  // First what costs no span.
  if (bytes_beyond_size() > 0) reclaim();
  if (uint32_t through = beyond_size(); through != 0) {
    [[maybe_unused]] Result<> dropped = drop_partitions(through, UINT64_MAX, "size");
  }
}

// Gives back what takes room and holds nothing: logs of rows that have been sealed, those rows in the stage, and rows
// of dropped partitions in the trace index, whose files have live ones beside them. False: not now. Files are written
// for it, and a disk that runs full under those would stop RocksDB.
bool Maintenance::reclaim() {
  Database& database = *engine_.database;
  bool with_traces = has_leftover_traces();
  std::optional<DiskSpace> space = measure_disk(engine_);
  uint64_t needed = with_traces ? database.file_bytes(Family::kTrace) : 0;
  if (!engine_.writable.load() || !space || !space->has_room_for(needed)) return false;
  rocksdb::Status status = database.flush();
  if (status.ok()) status = database.compact(Family::kStage);
  if (status.ok() && with_traces) status = database.compact(Family::kTrace);
  database.measure_log();
  if (!status.ok() && !status.IsManualCompactionPaused()) {
    log_warning("cannot give room back yet: " + status.ToString());
  }
  return status.ok();
}

// All of the trace index is written again for them, so not for a few.
bool Maintenance::has_leftover_traces() const {
  uint64_t live = 0;
  for (const SegmentInfoPtr& segment : engine_.views.get()->segments) live += segment->traces;
  return engine_.database->rows(Family::kTrace) > live + live / 4;
}

uint64_t Maintenance::bytes_beyond_size() const {
  engine_.database->measure_log();
  uint64_t used = engine_.database->disk_bytes_in_use(), limit = engine_.options.retention_bytes;
  return used > limit ? used - limit : 0;
}

// The newest partition that must go for the rest to keep to the limit of size; 0: none.
uint32_t Maintenance::beyond_size() const {
  uint64_t excess = bytes_beyond_size();
  ViewPtr view = engine_.views.get();
  std::map<uint32_t, uint64_t> bytes;
  for (const SegmentInfoPtr& segment : view->segments) bytes[segment->partition] += segment->bytes;
  uint64_t dropped = 0;
  uint32_t through = 0;
  for (const auto& [partition, size] : bytes) {
    if (dropped >= excess || partition >= view->generations.back()->partition()) break;
    dropped += size;
    through = partition;
  }
  return through;
}

// A drop does this itself, unless a question was under way that began before it.
void Maintenance::forget_operations() {
  if (!engine_.catalogue.has_retired()) return;
  std::lock_guard not_while_dropping(changing_segments_);
  retention_.forget_operations();
}

Result<> Maintenance::drop_before(uint64_t received_unix_nano) {
  uint32_t through = beyond_age(received_unix_nano);
  return through == 0 ? Result<>() : drop_partitions(through, received_unix_nano, "age");
}

// The newest partition that received nothing later; 0: none.
uint32_t Maintenance::beyond_age(uint64_t received_unix_nano) const {
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
  return through;
}

Result<> Maintenance::wait_sealed(uint64_t sequence) {
  std::unique_lock lock(mutex_);
  auto done = [&] { return engine_.sealed_sequence.load() >= sequence; };
  sealed_.wait(lock, [&] { return stopping_ || done() || !seal_fault_.empty(); });
  if (done()) return {};
  return unavailable(stopping_ ? "the store is closing" : "sealing fails for now: " + seal_fault_);
}

Result<> Maintenance::drop_partitions(uint32_t through, uint64_t received_before, const char* reason) {
  // Rows in memory may belong to traces that lose their beginning; sealed, they are corrected like all others.
  uint64_t frozen = committer_.rotate(through >= engine_.views.get()->generations.back()->partition());
  if (Result<> sealed = wait_sealed(frozen); !sealed) return sealed;
  std::lock_guard not_while_sealing(changing_segments_);
  // What arrived while this waited may have made a partition younger.
  for (const SegmentInfoPtr& segment : engine_.views.get()->segments) {
    if (segment->last_received_unix_nano >= received_before) through = std::min(through, segment->partition - 1);
  }
  if (through == 0) return {};
  Result<> dropped = retention_.drop_through(through, reason);
  leftovers_ = true;  // not before: what is not dropped yet cannot be given back
  return dropped;
}

Result<> Maintenance::compact() {
  Database& database = *engine_.database;
  rocksdb::Status status = database.flush();
  for (Family family : {Family::kStage, Family::kTrace, Family::kSlow, Family::kLatency}) {
    if (status.ok()) status = database.compact(family);
  }
  database.measure_log();
  return status.ok() ? Result<>() : Result<>(from_status(status, "compact"));
}

}  // namespace fathom::store
