#include "store/rocks/committer.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <unordered_map>

#include "base/log.h"
#include "base/thread_priority.h"
#include "base/time.h"
#include "store/rocks/counters.h"
#include "store/rocks/disk_space.h"
#include "store/rocks/keys.h"
#include "store/rocks/scan_options.h"
#include "store/rocks/sync_overlap.h"

namespace fathom::store {

namespace {

constexpr uint64_t kGroupBytes = 8 << 20;
constexpr uint64_t kSealPatienceNano = 5 * kNanosPerSecond;
constexpr uint64_t kMeasureValidNano = 10 * kNanosPerMilli;
constexpr uint64_t kMeasureMarginBytes = 64 << 20;

AppendResult retryable(std::string message) {
  return {AppendOutcome::kRetryable, std::move(message), false};
}

double seconds(uint64_t nano) {
  return static_cast<double>(nano) / kNanosPerSecond;
}

// Copies the encoded batch once, into the write.
void put_staged(rocksdb::ColumnFamilyHandle* stage, uint64_t sequence, const Batch& batch, uint64_t received_unix_nano,
                rocksdb::WriteBatch& write) {
  const std::string key = keys::stage(sequence);
  std::string received;
  ByteWriter(received).u64(received_unix_nano);
  const rocksdb::Slice key_part = key, value_parts[] = {received, batch.encoded()};
  write.Put(stage, {&key_part, 1}, {value_parts, 2});
}

}  // namespace

Committer::Committer(Engine& engine)
    : engine_(engine),
      identities_(*engine.database),
      wake_(engine.options.scheduler),
      rotated_(engine.options.scheduler),
      sealed_(engine.options.scheduler),
      thread_(engine.options.scheduler) {}

Committer::~Committer() {
  stop();
}

Result<> Committer::start(std::function<void()> frozen) {
  frozen_ = std::move(frozen);
  if (Result<> recovered = recover(); !recovered) return recovered;
  thread_.start([this] { run(); });
  return {};
}

void Committer::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  sealed_.notify_all();
  rotated_.notify_all();
  thread_.join();
}

Result<> Committer::recover() {
  uint64_t sealed = engine_.sealed_sequence.load();
  next_sequence_ = sealed + 1;
  engine_.received_sequence = sealed;
  Database& database = *engine_.database;
  rocksdb::ReadOptions options = scan_options();
  options.total_order_seek = true;
  std::unique_ptr<rocksdb::Iterator> stage(database.db().NewIterator(options, database.family(Family::kStage)));
  std::set<Hash128> identities;  // a batch that was refused at a disk's fault and sent again may be here twice
  for (stage->Seek(keys::stage(sealed + 1)); stage->Valid(); stage->Next()) {
    std::string_view value(stage->value().data(), stage->value().size());
    ByteReader in(value);
    uint64_t received = in.u64();
    Result<BatchPtr> batch = Batch::parse(std::string(value.substr(std::min<size_t>(8, value.size()))));
    if (!batch) return corrupt("the stage is damaged: " + batch.error().message);
    uint64_t sequence = keys::stage_sequence({stage->key().data(), stage->key().size()});
    next_sequence_ = sequence + 1;
    if (!identities.insert((*batch)->identity()).second) continue;
    // Into the partition that they were received in, however long ago that was.
    hot_ ? rotate_if_due(received) : rotate_now(received);
    look_up_traces(**batch);
    insert(*batch, sequence, received, number_operations(**batch));
    engine_.received_sequence = sequence;
  }
  // If time off is confirmed later, it ages what is here, and not what comes; so they need partitions of their own.
  const bool apart = engine_.clock->time().is_gap_pending();
  if (!hot_ || apart) rotate_now(engine_.now(), apart);
  older_.reset();
  if (!stage->status().ok()) return from_status(stage->status(), "read the stage");
  return write_operations();
}

// Limits may have been raised since the rows were staged; what is numbered only now must be written before it is
// sealed.
Result<> Committer::write_operations() {
  Database& database = *engine_.database;
  rocksdb::WriteBatch batch;
  unwritten_operations_ = engine_.catalogue.take_pending();
  for (const auto& [id, row] : unwritten_operations_) {
    batch.Put(database.family(Family::kOperation), keys::operation(id), row);
  }
  if (batch.Count() == 0) return {};
  rocksdb::WriteOptions options;
  options.sync = true;
  rocksdb::Status status = database.db().Write(options, &batch);
  if (!status.ok()) return from_status(status, "write the catalogue of operations");
  unwritten_operations_.clear();
  return {};
}

Committer::Numbered Committer::number_operations(const Batch& batch) {
  Numbered numbered;
  numbered.operations.reserve(batch.rows().size());
  std::unordered_map<uint64_t, Catalogue::Number> seen;
  for (const Batch::Row& row : batch.rows()) {
    uint64_t key = uint64_t{row.resource} << 35 | uint64_t{row.name} << 3 | static_cast<uint64_t>(row.kind);
    auto [found, inserted] = seen.try_emplace(key);
    if (inserted) {
      const ResourceView& resource = batch.resource(row.resource);
      found->second = engine_.catalogue.intern(service_namespace(resource), service_name(resource),
                                               batch.strings()[row.name], row.kind, numbered.hold);
    }
    numbered.operations.push_back(found->second.id);
    if (found->second.limit != nullptr) ++numbered.limited[found->second.limit];
  }
  return numbered;
}

Committer::Pending Committer::number(BatchPtr batch, std::function<void(AppendResult)> done) {
  Numbered numbered = number_operations(*batch);
  return {std::move(batch), std::move(numbered), std::move(done), now_monotonic_nano(), 0, false};
}

void Committer::append(BatchPtr batch, std::function<void(AppendResult)> done) {
  if (batch->rows().empty()) return done({});
  queue(number(std::move(batch), std::move(done)));
}

void Committer::queue(Pending pending) {
  const uint64_t bytes = pending.batch->encoded().size();
  {
    std::unique_lock lock(mutex_);
    if (!stopping_ && queued_bytes_ + bytes <= engine_.options.queue_bytes) {
      queued_bytes_ += bytes;
      queue_.push_back(std::move(pending));
      // The woken thread needs the lock at once.
      lock.unlock();
      return wake_.notify_one();
    }
  }
  refused_batches("queue_full").add();
  pending.done(retryable("the store's queue is full; try again"));
}

void Committer::append_here(BatchPtr batch, std::function<void(AppendResult)> done,
                            const std::function<void()>& meanwhile) {
  bool is_called = false;
  const auto once = [&] {
    if (!std::exchange(is_called, true)) meanwhile();
  };
  batch->rows().empty() ? done({}) : commit_or_queue(number(std::move(batch), std::move(done)), once);
  once();
}

void Committer::commit_or_queue(Pending pending, const std::function<void()>& meanwhile) {
  if (!begin_here()) return queue(std::move(pending));
  // Once it has room, nobody else takes it. Waiting for room is the thread's part.
  rotate_if_due(engine_.now());
  if (!has_room_in_memory()) {
    end_here();
    return queue(std::move(pending));
  }
  std::vector<Pending> group;
  group.push_back(std::move(pending));
  commit(group, meanwhile);
  end_here();
}

bool Committer::begin_here() {
  std::lock_guard lock(mutex_);
  if (!is_thread_idle_ || is_committing_here_ || has_work()) return false;
  is_committing_here_ = true;
  return true;
}

void Committer::end_here() {
  std::lock_guard lock(mutex_);
  is_committing_here_ = false;
  if (has_work()) wake_.notify_one();
}

uint64_t Committer::rotate(bool new_partition) {
  std::unique_lock lock(mutex_);
  rotate_wanted_ = true;
  new_partition_wanted_ |= new_partition;
  wake_.notify_one();
  rotated_.wait(lock, [this] { return !rotate_wanted_ || stopping_; });
  return frozen_sequence_;
}

void Committer::notify_sealed() {
  std::lock_guard lock(mutex_);
  sealed_.notify_all();
}

void Committer::run() {
  yield_to_questions();
  std::vector<Pending> group;
  while (take_group(group)) {
    if (!group.empty()) commit(group);
    group.clear();
    rotate_if_wanted();
    std::unique_lock lock(mutex_);
    run_task(lock);
  }
}

bool Committer::take_group(std::vector<Pending>& group) {
  std::unique_lock lock(mutex_);
  is_thread_idle_ = true;
  wake_.wait(lock, [this] { return !is_committing_here_ && has_work(); });
  is_thread_idle_ = false;
  uint64_t bytes = 0;
  while (!queue_.empty() && bytes < kGroupBytes) {
    bytes += queue_.front().batch->encoded().size();
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  queued_bytes_ -= bytes;
  return !(stopping_ && group.empty() && queue_.empty());
}

void Committer::rotate_if_wanted() {
  std::unique_lock lock(mutex_);
  if (!rotate_wanted_) return;
  bool new_partition = std::exchange(new_partition_wanted_, false);
  lock.unlock();
  if (hot_->row_count() > 0 || new_partition) rotate_now(engine_.now(), new_partition);
  uint64_t frozen = engine_.received_sequence.load();  // nothing is inserted meanwhile
  lock.lock();
  frozen_sequence_ = frozen;
  rotate_wanted_ = new_partition_wanted_;  // somebody may have asked for more meanwhile
  rotated_.notify_all();
}

void Committer::commit(std::vector<Pending>& group, const std::function<void()>& meanwhile) {
  uint64_t now = engine_.now();
  rotate_if_due(now);
  Result<> written;
  if (!engine_.writable.load()) {
    written = unavailable("the store takes no writes for now: its disk is full or faulty");
    refused_batches("not_writable").add(group.size());
  } else if (!room_on_disk(group)) {
    written = unavailable("the disk is nearly full; try again when there is room");
    refused_batches("not_writable").add(group.size());
  } else if (!room_in_memory()) {
    written = unavailable("sealing is behind; try again");
    refused_batches("sealing_behind").add(group.size());
  } else {
    written = write(group, now, meanwhile);
  }
  if (engine_.options.scheduler != nullptr) engine_.options.scheduler->yield();
  if (written.ok()) publish(group, now);
  older_.reset();  // it would pin files that compaction replaces, and deleted rows of the stage
  answer(group, written);
}

void Committer::answer(std::vector<Pending>& group, const Result<>& written) {
  uint64_t now_nano = now_monotonic_nano();
  for (Pending& pending : group) {
    if (written.ok()) append_durations().observe(seconds(now_nano - pending.came_nano));
    pending.done(written.ok() ? AppendResult{AppendOutcome::kDurable, "", pending.duplicate}
                              : retryable(written.error().message));
  }
}

Result<> Committer::find_duplicates(std::vector<Pending>& group, uint64_t now) {
  std::set<Hash128> here;
  for (Pending& pending : group) {
    const Hash128 identity = pending.batch->identity();
    pending.duplicate = !here.insert(identity).second;
    if (pending.duplicate) continue;
    Result<bool> known = engine_.damaged_reads.checked(identities_.known(identity, now));
    if (!known) return known.error();
    pending.duplicate = *known;
  }
  return {};
}

Result<> Committer::write(std::vector<Pending>& group, uint64_t now, const std::function<void()>& meanwhile) {
  if (Result<> looked_up = find_duplicates(group, now); !looked_up) {
    refused_batches("lookup_failed").add(group.size());
    return looked_up;
  }
  Database& database = *engine_.database;
  constexpr size_t kOtherBytes = 1024;  // keys, identities, operations
  rocksdb::WriteBatch batch(bytes_of(group) + kOtherBytes);
  for (auto& row : engine_.catalogue.take_pending()) unwritten_operations_.push_back(std::move(row));
  for (const auto& [id, row] : unwritten_operations_) {
    batch.Put(database.family(Family::kOperation), keys::operation(id), row);
  }
  identities_.expire(now, batch);
  for (Pending& pending : group) {
    if (pending.duplicate) continue;
    // A number is never used twice, not even after a failed write: the failed one may yet turn up at the next start.
    pending.sequence = next_sequence_++;
    put_staged(database.family(Family::kStage), pending.sequence, *pending.batch, now, batch);
    identities_.remember(pending.batch->identity(), pending.sequence, now, batch);
  }
  if (batch.Count() == 0) return {};
  rocksdb::Status status = write_log(batch, group, meanwhile);
  if (!status.ok()) {
    set_writable(engine_, false);
    refused_batches("write_failed").add(group.size());
    log_error("a write failed, refusing writes until the disk recovers: " + status.ToString());
    return from_status(status, "write to the store");
  }
  unwritten_operations_.clear();
  return {};
}

// A lone batch is prepared during the sync. Larger groups are not, because other writers would wait for that.
rocksdb::Status Committer::write_log(rocksdb::WriteBatch& batch, std::span<const Pending> group,
                                     const std::function<void()>& meanwhile) {
  rocksdb::WriteOptions options;
  options.sync = engine_.options.durability == Durability::kFsync;
  uint64_t began_nano = now_monotonic_nano();
  const auto work = [&] {
    const uint64_t work_began_nano = now_monotonic_nano();
    prepare(*group.front().batch);
    meanwhile();
    began_nano += now_monotonic_nano() - work_began_nano;  // it is not the disk's time
  };
  std::optional<SyncOverlap> overlap;
  if (group.size() == 1) overlap.emplace(work);
  rocksdb::Status status = engine_.database->db().Write(options, &batch);
  if (!status.ok()) return status;
  if (overlap) overlap->run();
  write_durations().observe(seconds(now_monotonic_nano() - began_nano));
  return status;
}

// Measures the disk for the next group, and looks up older parts of the batch's traces.
void Committer::prepare(const Batch& batch) {
  measured_ = DiskMeasure{measure(), wake_.now_nano()};
  look_up_traces(batch);
}

void Committer::look_up_traces(const Batch& batch) {
  older_traces_.clear();
  hot_->look_up_new_traces(
      batch, [this](const TraceId& id) { return find_older(id); }, older_traces_);
}

void Committer::publish(std::vector<Pending>& group, uint64_t now) {
  for (Pending& pending : group) {
    if (pending.duplicate) {
      duplicate_batches().add();
      continue;
    }
    if (group.size() > 1) look_up_traces(*pending.batch);
    insert(pending.batch, pending.sequence, now, pending.numbered);
    for (const auto& [limit, rows] : pending.numbered.limited) limited_parts(limit).add(rows);
    engine_.received_sequence.store(pending.sequence, std::memory_order_release);
    stored_spans().add(pending.batch->rows().size());
    if (hot_is_full()) rotate_now(now);
  }
}

void Committer::insert(const BatchPtr& batch, uint64_t sequence, uint64_t received, const Numbered& numbered) {
  hot_->insert(batch, sequence, received, numbered.operations, older_traces_);
  numbered.hold.used_in(hot_->partition());
}

bool Committer::hot_is_full() const {
  return hot_->row_count() >= engine_.options.segment_spans || hot_->encoded_bytes() >= segment_limit();
}

uint64_t Committer::bytes_of(const std::vector<Pending>& group) {
  uint64_t bytes = 0;
  for (const Pending& pending : group) bytes += pending.batch->encoded().size();
  return bytes;
}

// Remembers the reserve, so that segment_limit() needs no system call for each batch.
std::optional<DiskSpace> Committer::measure() {
  std::optional<DiskSpace> space = measure_disk(engine_);
  if (space) reserve_bytes_ = space->reserve_bytes;
  return space;
}

// What a group takes in the log, and again when the log's rows are flushed, must be free beyond the reserve.
bool Committer::room_on_disk(const std::vector<Pending>& group) {
  const uint64_t needed_bytes = 2 * bytes_of(group);
  // A measure costs a lone exporter as much as a tenth of its batch's decoding. Another program may have taken some
  // space since the last one.
  std::optional<DiskMeasure> last = std::exchange(measured_, std::nullopt);
  const bool is_valid = last && wake_.now_nano() - last->taken_nano < kMeasureValidNano;
  if (is_valid && last->has_room_for(needed_bytes + kMeasureMarginBytes)) return true;
  std::optional<DiskSpace> space = measure();
  if (!space || space->has_room_for(needed_bytes)) return true;
  refuse_writes(engine_, *space);
  return false;
}

// Waits a little for the sealer when it is behind, then says whether rows may go into memory.
bool Committer::room_in_memory() {
  std::unique_lock lock(mutex_);
  const uint64_t deadline_nano = sealed_.now_nano() + kSealPatienceNano;
  // A drop must not wait for this: sealing waits for the drop.
  const auto may_go_on = [this] { return stopping_ || task_ || has_room_in_memory(); };
  while (sealed_.wait_until(lock, deadline_nano, may_go_on) && task_) run_task(lock);
  return has_room_in_memory();
}

bool Committer::has_room_in_memory() const {
  return engine_.views.get()->generations.size() <= engine_.options.sealing_limit + 1;
}

void Committer::rotate_if_due(uint64_t now) {
  if (engine_.partition_hour(now) != hot_hour_ || hot_is_full()) rotate_now(now);
}

// Retention by size drops partitions, so a small limit needs small ones; on disk they are about a quarter as large.
uint64_t Committer::partition_limit() const {
  uint64_t most = engine_.options.partition_bytes;
  return engine_.options.retention_bytes == 0 ? most : std::min(most, engine_.options.retention_bytes / 2);
}

// Unsealed batches cannot be dropped, and the log has them uncompressed. They must be a small part of a small limit. On
// a nearly full disk they are sealed in the reserve.
uint64_t Committer::segment_limit() const {
  constexpr uint64_t kLeast = 1 << 20;
  uint64_t most = engine_.options.segment_bytes, limit = engine_.options.retention_bytes;
  if (limit != 0) most = std::min(most, std::max(kLeast, limit / 16));
  if (reserve_bytes_ != 0) most = std::min(most, std::max(kLeast, reserve_bytes_ / 4));
  return most;
}

// Freezes the newest generation and begins another, in a new partition when the hour or the partition's size asks for
// it.
void Committer::rotate_now(uint64_t now, bool new_partition) {
  uint32_t hour = engine_.partition_hour(now);
  ViewPtr view = engine_.views.get();
  uint32_t partition = 1;
  if (hot_) {
    partition = hot_->partition();
    partition_bytes_ += hot_->encoded_bytes();
  } else if (!view->segments.empty()) {
    const SegmentInfo& newest = *view->segments.back();
    partition = newest.partition;
    hot_hour_ = engine_.partition_hour(newest.last_received_unix_nano);
  } else {
    hot_hour_ = hour;
  }
  if (new_partition || hour != hot_hour_ || partition_bytes_ >= partition_limit()) {
    ++partition;
    partition_bytes_ = 0;
  }
  partition = std::max(partition, engine_.live->oldest());
  hot_hour_ = hour;
  std::shared_ptr<Generation> full = hot_ && hot_->row_count() > 0 ? hot_ : nullptr;
  if (full) full->freeze();
  hot_ = std::make_shared<Generation>(partition, engine_.options.segment_spans);
  engine_.views.update([&](View& next) {
    if (!full && !next.generations.empty()) next.generations.pop_back();
    next.generations.push_back(hot_);
  });
  if (full && frozen_) frozen_();
}

}  // namespace fathom::store
