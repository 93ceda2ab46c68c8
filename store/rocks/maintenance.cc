#include "store/rocks/maintenance.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <span>

#include "base/log.h"
#include "base/metrics.h"
#include "base/thread_priority.h"
#include "base/time.h"
#include "store/rocks/counters.h"
#include "store/rocks/database_options.h"
#include "store/rocks/disk_space.h"
#include "store/rocks/keys.h"
#include "store/rocks/sealer.h"
#include "store/rocks/stage_rows.h"
#include "store/wal/repair_advice.h"

namespace fathom::store {

namespace {

constexpr auto kFirstPause = std::chrono::milliseconds(100);
constexpr auto kLongestPause = std::chrono::seconds(10);
constexpr auto kWatchInterval = std::chrono::seconds(1);
constexpr uint64_t kUnmergedFiles = 32;

}  // namespace

Maintenance::Maintenance(Engine& engine, Committer& committer)
    : engine_(engine),
      committer_(committer),
      wake_(engine.options.scheduler),
      sealed_(engine.options.scheduler),
      changing_segments_(engine.options.scheduler),
      retention_(engine),
      upgrade_(engine.options.path, engine.options.upgrade_commit_nano),
      sealing_(engine.options.scheduler),
      watching_(engine.options.scheduler),
      retaining_(engine.options.scheduler) {}

Maintenance::~Maintenance() {
  stop();
}

void Maintenance::start() {
  retention_.forget_operations();
  watch_disk();
  sealing_.start([this] { run_sealing(); });
  watching_.start([this] { run_watching(); });
  retaining_.start([this] { run_retention(); });
}

void Maintenance::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  sealed_.notify_all();
  engine_.database->stop_compacting();
  sealing_.join();
  watching_.join();
  retaining_.join();
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

// On a full disk a segment must not take the last bytes: retention needs them to free more, and a write that fails
// because they are missing stops RocksDB.
Result<> Maintenance::room_to_seal(const Generation& generation) {
  constexpr uint64_t kLeftBytes = 1 << 20;
  if (engine_.writable.load()) return {};
  const std::optional<DiskSpace> space = measure_disk(engine_);
  // Publishing a segment flushes other families.
  const uint64_t needed = generation.encoded_bytes() + engine_.database->flush_bytes(0) + kLeftBytes;
  if (!space || space->free_bytes >= needed) return {};
  return unavailable("the disk is full: " + std::to_string(space->free_bytes) +
                     " bytes are free, and a segment needs " + std::to_string(needed));
}

bool Maintenance::seal_oldest() {
  std::lock_guard not_while_dropping(changing_segments_);
  ViewPtr view = engine_.views.get();
  if (view->generations.size() < 2) return true;  // retention dropped what waited
  std::shared_ptr<Generation> generation = view->generations.front();
  uint32_t number = engine_.last_segment.load() + 1;
  Result<SegmentInfo> info = seal(*generation, number, view);
  {
    std::lock_guard lock(mutex_);
    seal_fault_ = info.ok() ? "" : info.error().message;
  }
  if (!info) {
    note_failed_seal(info.error());
    return false;
  }
  failed_seals_ = 0;
  leaves_out_unreadable_ = false;
  engine_.last_segment = number;
  engine_.sealed_sequence = info->last_sequence;
  // Before the view's snapshot, which would keep the deleted rows alive until the next one.
  delete_stage_rows(*engine_.database, *generation);
  engine_.views.update([&](View& next_view) {
    next_view.generations.erase(next_view.generations.begin());
    next_view.segments.push_back(std::make_shared<SegmentInfo>(*info));
    next_view.snapshot = take_snapshot(engine_.database->db());
  });
  committer_.notify_sealed();
  return true;
}

Result<SegmentInfo> Maintenance::seal(const Generation& generation, uint32_t number, ViewPtr view) {
  if (Result<> room = room_to_seal(generation); !room) return room.error();
  SealInput input{generation, number, engine_.catalogue, {.listed_keys = engine_.options.listed_attribute_keys}};
  if (leaves_out_unreadable_) {
    input.on_unreadable = [this](const Error& error) { engine_.damaged_reads.note_left_out(error); };
  }
  return store::seal(input, engine_.sealed(), std::move(view));
}

// Damage stays, so waiting does not help. Older spans of the same traces can be left out; they stay where they are. If
// that does not help either, RocksDB cannot read what it needs to add a segment. The disk itself may recover.
void Maintenance::note_failed_seal(const Error& why) {
  constexpr int kAttemptsToRead = 10;
  seal_failures().add();
  log_error("sealing failed, trying again: " + why.message);
  const bool is_damage = why.code == ErrorCode::kCorrupt;
  if (is_damage && leaves_out_unreadable_ && engine_.options.on_unrecoverable) {
    engine_.options.on_unrecoverable(with_repair_advice(why, engine_.options.path));
  }
  if (engine_.writable.load()) ++failed_seals_;  // otherwise the space for a segment may be missing
  leaves_out_unreadable_ = is_damage || failed_seals_ >= kAttemptsToRead;
}

void Maintenance::run_watching() {
  yield_to_requests();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    engine_.clock_keeper->tick();
    engine_.database->note_synced_logs();
    watch_disk();
    lock.lock();
    wake_.wait_for(lock, kWatchInterval, [this] { return stopping_; });
  }
}

// Apart from the watching of the disk: dropping waits while a segment is sealed, and sealing may wait for the disk.
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
  // First: it may make room.
  if (space) upgrade_.look(*space, now_monotonic_nano());
  if (space) space = measure_disk(engine_);
  if (space) {
    gauge("fathom_disk_free_bytes", "Free space on the data directory's file system")
        .set(static_cast<int64_t>(space->free_bytes));
  }
  const bool room = !space || space->has_room_for(0);
  if (!room) refuse_writes(engine_, *space);
  const bool writable = room && resume();
  if (writable) engine_.database->ballast().take_on();
  set_writable(engine_, writable);
}

// After some faults RocksDB stops a part of its work until Resume(). After a failed write to its log, RocksDB must not
// go on: if no rows are in memory, Resume() keeps the log, and the next write to it ends the process.
bool Maintenance::resume() {
  const bool nothing_happened = !engine_.database->has_fault() && recovered_is_durable_;
  if (nothing_happened && engine_.writable.load()) return true;
  // Not while a segment is published: see Database::may_ingest().
  std::lock_guard not_while_sealing(changing_segments_);
  if (!engine_.database->may_ingest()) {
    if (engine_.options.on_unrecoverable) engine_.options.on_unrecoverable(engine_.database->why_stopped());
    return false;
  }
  const rocksdb::Status status = engine_.database->resume();
  if (status.ok() && !engine_.writable.load()) log_info("there is room again: writes are taken");
  if (!status.ok()) log_warning("writes are refused: " + status.ToString());
  return status.ok() && make_recovered_durable();
}

// A log that this start read may be in the page cache only: the process before it ended between a write and its sync,
// or that sync failed. A batch in it must not be acknowledged, not even as a duplicate, before files have its rows.
bool Maintenance::make_recovered_durable() {
  if (recovered_is_durable_ || engine_.options.durability == Durability::kOs) return true;
  rocksdb::Status status = engine_.database->flush();
  recovered_is_durable_ = status.ok();
  if (!status.ok()) log_warning("writes are rejected: cannot make recovered batches durable: " + status.ToString());
  return recovered_is_durable_;
}

void Maintenance::apply_retention() {
  const RocksOptions& options = engine_.options;
  limit_log();
  if (options.retention_age_nano != 0) {
    note(drop_before(engine_.clock->cutoff(options.retention_age_nano)));
  }
  forget_operations();
  if (options.retention_bytes != 0) keep_to_size();
  if (retention_.is_incomplete()) {
    std::lock_guard not_while_sealing(changing_segments_);
    note(retention_.complete(committer_));
  }
  if (leftovers_.exchange(false) && !reclaim()) leftovers_ = true;
}

// The limit changes with the retention, and after a start on a nearly full disk. Without room it stays: each change
// writes a file of RocksDB's options, and a lower limit makes RocksDB flush.
void Maintenance::limit_log() {
  if (!engine_.writable.load()) return;
  const uint64_t bytes = log_limit(*engine_.database->db().GetEnv(), engine_.options);
  if (bytes != kUnlimitedLogBytes) engine_.database->limit_log(bytes);
}

void Maintenance::keep_to_size() {
  // First what costs no span.
  if (bytes_beyond_size() > 0) reclaim();
  Retention::Drop wanted = beyond_size(*engine_.views.get());
  if (wanted.through == 0) wanted = beyond_size_unsealed();
  if (wanted.through != 0) note(drop(wanted));
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

// The newest partition that must go for the rest to keep to the limit of size. The one that takes rows stays, unless
// its segments alone exceed the limit, which was lowered then; on a full disk it would stay for ever.
Retention::Drop Maintenance::beyond_size(const View& view) const {
  const uint64_t excess = bytes_beyond_size(), limit = engine_.options.retention_bytes;
  const uint32_t hot = view.generations.back()->partition();
  std::map<uint32_t, uint64_t> bytes;
  for (const SegmentInfoPtr& segment : view.segments) bytes[segment->partition] += segment->bytes;
  Retention::Drop drop{.through = 0, .generations = 0, .reason = "size"};
  uint64_t dropped = 0;
  for (const auto& [partition, size] : bytes) {
    if (dropped >= excess || (partition >= hot && size <= limit)) break;
    dropped += size;
    drop.through = partition;
  }
  return drop;
}

// On a full disk, where sealing fails: what is in memory and in the log alone may exceed a limit that was lowered. The
// rows received first go.
Retention::Drop Maintenance::beyond_size_unsealed() {
  Retention::Drop drop{.through = 0, .generations = 0, .reason = "size"};
  const uint64_t limit = engine_.options.retention_bytes;
  const auto unsealed_bytes = [](const View& view) {
    uint64_t bytes = 0;
    for (const auto& generation : view.generations) bytes += generation->encoded_bytes();
    return bytes;
  };
  if (engine_.writable.load() || bytes_beyond_size() == 0 || unsealed_bytes(*engine_.views.get()) <= limit) return drop;
  if (wait_sealed(committer_.rotate())) return drop;
  const ViewPtr view = engine_.views.get();
  for (uint64_t left = unsealed_bytes(*view); left > limit;
       left -= view->generations[drop.generations++]->encoded_bytes()) {
    drop.through = view->generations[drop.generations]->partition();
  }
  return drop;
}

// A drop does this itself, unless a question was under way that began before it.
void Maintenance::forget_operations() {
  if (!engine_.catalogue.has_retired()) return;
  std::lock_guard not_while_dropping(changing_segments_);
  retention_.forget_operations();
}

Result<> Maintenance::drop_before(uint64_t received_unix_nano) {
  uint32_t through = beyond_age(received_unix_nano);
  return through == 0 ? Result<>() : drop_aged(through, received_unix_nano);
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

// The newest reception decides, so what arrives while this waits for the committer makes a partition younger.
Result<> Maintenance::drop_aged(uint32_t through, uint64_t received_before) {
  if (through >= engine_.views.get()->generations.back()->partition()) committer_.rotate(true);
  std::lock_guard not_while_sealing(changing_segments_);
  through = std::min(through, beyond_age(received_before));
  return through == 0 ? Result<>() : drop_locked({through, frozen_through(through), "age"});
}

// Generations of partitions up to this one, without the one that takes rows. They are the oldest.
size_t Maintenance::frozen_through(uint32_t partition) const {
  const ViewPtr view = engine_.views.get();
  const auto frozen = std::span(view->generations).first(view->generations.size() - 1);
  return static_cast<size_t>(
      std::ranges::count_if(frozen, [&](const auto& generation) { return generation->partition() <= partition; }));
}

Result<> Maintenance::drop(Retention::Drop drop) {
  // Its rows in memory stay, in a partition of their own.
  if (drop.through >= engine_.views.get()->generations.back()->partition()) committer_.rotate(true);
  std::lock_guard not_while_sealing(changing_segments_);
  // Those may have been sealed meanwhile.
  drop.generations = std::min(drop.generations, engine_.views.get()->generations.size() - 1);
  return drop_locked(drop);
}

Result<> Maintenance::drop_locked(const Retention::Drop& drop) {
  Result<> dropped = retention_.drop(drop, committer_);
  if (engine_.live->is_live(drop.through)) return dropped;
  if (drop.generations > 0) note_unsealed_dropped();
  leftovers_ = true;  // not before: what is not dropped yet cannot be given back
  return dropped;
}

// Those who wait for these rows to be sealed wait no longer. The log that holds them can go, which a full disk needs.
void Maintenance::note_unsealed_dropped() {
  committer_.notify_sealed();
  {
    std::lock_guard lock(mutex_);
    sealed_.notify_all();
  }
  uint64_t left = 0;
  for (const auto& generation : engine_.views.get()->generations) left += generation->encoded_bytes();
  const std::optional<DiskSpace> space = measure_disk(engine_);
  if (engine_.writable.load() || !space || space->free_bytes < engine_.database->flush_bytes(left)) return;
  const rocksdb::Status status = engine_.database->flush();
  if (!status.ok()) log_warning("cannot give back the log of dropped spans yet: " + status.ToString());
}

// Only opening the store again helps a RocksDB that a fault stopped, also where retention could make room.
void Maintenance::note(const Result<>& dropped) {
  std::string fault = dropped.ok() ? "" : dropped.error().message;
  if (!fault.empty() && fault != drop_fault_) log_warning("retention cannot drop partitions yet: " + fault);
  drop_fault_ = std::move(fault);
  if (dropped.ok() || engine_.database->may_ingest() || !engine_.database->make_small_room()) return;
  if (!engine_.options.on_unrecoverable) return;
  Error why = engine_.database->why_stopped();
  why.message += "; retention must free space: " + drop_fault_;
  engine_.options.on_unrecoverable(why);
}

Result<> Maintenance::compact() {
  Database& database = *engine_.database;
  rocksdb::Status status = database.flush();
  for (Family family : {Family::kStage, Family::kTrace, Family::kSlow, Family::kLatency}) {
    if (status.ok()) status = database.compact(family);
  }
  database.measure_log();
  if (status.ok()) return {};
  const Result<> running = database.check_not_stopped();
  return running ? Result<>(from_status(status, "compact")) : running;
}

}  // namespace fathom::store
