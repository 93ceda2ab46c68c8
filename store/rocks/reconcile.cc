#include "store/rocks/reconcile.h"

#include <algorithm>
#include <map>

#include "base/log.h"
#include "store/rocks/identity_log.h"
#include "store/rocks/keys.h"
#include "store/rocks/losses.h"
#include "store/rocks/retention.h"
#include "store/rocks/scan_options.h"

namespace fathom::store {

namespace {

Result<bool> has_blocks(Database& database, const SegmentInfo& segment) {
  if (segment.rows == 0) return true;  // only latency cells: it never had blocks
  std::string directory;
  rocksdb::Status status = database.db().Get(rocksdb::ReadOptions(), database.family(Family::kBlock),
                                             directory_key(segment.partition, segment.id), &directory);
  // A damaged directory is damage to its file and not a drop.
  if (status.IsCorruption()) return true;
  if (!status.ok() && !status.IsNotFound()) return from_status(status, "read the directory of a segment");
  return status.ok();
}

Result<bool> have_blocks(Database& database, const std::vector<SegmentInfoPtr>& segments) {
  for (const SegmentInfoPtr& segment : segments) {
    Result<bool> has = has_blocks(database, *segment);
    if (!has || !*has) return has;
  }
  return true;
}

// The first partition whose segments all have their blocks, or the one after the last.
Result<uint32_t> first_whole_partition(Engine& engine) {
  std::map<uint32_t, std::vector<SegmentInfoPtr>> partitions;
  for (const SegmentInfoPtr& segment : engine.views.get()->segments) partitions[segment->partition].push_back(segment);
  uint32_t first = engine.live->oldest();
  for (const auto& [partition, segments] : partitions) {
    Result<bool> whole = have_blocks(*engine.database, segments);
    if (!whole) return whole.error();
    if (*whole) break;
    first = partition + 1;
  }
  return first;
}

// Whether the batch that an identity names is sealed or staged. Identities written by older versions do not say.
Result<bool> is_stored(Engine& engine, std::string_view identity) {
  std::optional<uint64_t> sequence = identity_sequence(identity);
  if (!sequence || *sequence <= engine.sealed_sequence.load()) return true;
  return is_staged(*engine.database, *sequence);
}

}  // namespace

Result<> complete_lost_drops(Engine& engine) {
  // Without a log that was damaged just now, blocks that are missing are damage to a file, which reads report.
  Result<std::vector<std::string>> damaged_logs = unrecorded_logs(engine);
  if (!damaged_logs) return damaged_logs.error();
  if (damaged_logs->empty()) return {};
  Result<uint32_t> first = first_whole_partition(engine);
  if (!first) return first.error();
  if (*first <= engine.live->oldest()) return {};
  if (Result<> recorded = record_drop(engine, *first, engine.sealed_sequence.load()); !recorded) return recorded;
  log_warning("damage to the log had undone the drop of the partitions before " + std::to_string(*first) +
              "; they are dropped again");
  engine.views.update([&](View& view) {
    std::erase_if(view.segments, [&](const SegmentInfoPtr& segment) { return segment->partition < *first; });
    view.snapshot = take_snapshot(engine.database->db());
  });
  return {};
}

Result<bool> is_staged(Database& database, uint64_t sequence) {
  std::string value;
  rocksdb::Status status =
      database.db().Get(rocksdb::ReadOptions(), database.family(Family::kStage), keys::stage(sequence), &value);
  if (!status.ok() && !status.IsNotFound()) return from_status(status, "read the stage");
  return status.ok();
}

Result<> forget_lost_identities(Engine& engine) {
  Database& database = *engine.database;
  rocksdb::WriteBatch lost;
  std::unique_ptr<rocksdb::Iterator> rows(
      database.db().NewIterator(scan_options(), database.family(Family::kIdentity)));
  for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
    Result<bool> stored = is_stored(engine, rows->value().ToStringView());
    if (!stored) return stored.error();
    if (!*stored) lost.Delete(database.family(Family::kIdentity), rows->key());
  }
  if (!rows->status().ok()) return from_status(rows->status(), "read the identities of batches");
  rocksdb::WriteOptions options;
  options.sync = true;
  rocksdb::Status status = database.db().Write(options, &lost);
  return status.ok() ? Result<>() : Result<>(from_status(status, "forget the identities of lost batches"));
}

Result<> restore_identities(Engine& engine) {
  Database& database = *engine.database;
  IdentityLog identities(database);
  rocksdb::WriteBatch restored;
  std::unique_ptr<rocksdb::Iterator> rows(database.db().NewIterator(scan_options(), database.family(Family::kStage)));
  for (rows->Seek(keys::stage(engine.sealed_sequence.load() + 1)); rows->Valid(); rows->Next()) {
    const std::string_view value = rows->value().ToStringView();
    const uint64_t received_nano = ByteReader(value).u64();
    Result<BatchPtr> batch = Batch::parse(std::string(value.substr(std::min<size_t>(8, value.size()))));
    if (!batch) return corrupt("the stage is damaged: " + batch.error().message);
    identities.remember((*batch)->identity(), keys::stage_sequence(rows->key().ToStringView()), received_nano,
                        restored);
  }
  if (!rows->status().ok()) return from_status(rows->status(), "read the stage");
  rocksdb::WriteOptions options;
  options.sync = true;
  rocksdb::Status status = database.db().Write(options, &restored);
  return status.ok() ? Result<>() : Result<>(from_status(status, "restore the identities of batches"));
}

}  // namespace fathom::store
