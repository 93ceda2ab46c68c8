#include "store/rocks/losses.h"

#include <algorithm>
#include <map>

#include "base/log.h"
#include "base/text.h"
#include "base/time.h"
#include "store/rocks/counters.h"
#include "store/rocks/keys.h"
#include "store/rocks/reconcile.h"
#include "store/rocks/scan_options.h"
#include "store/wal/log_losses.h"
#include "store/wal/log_repair.h"
#include "store/wal/missing_logs.h"

namespace fathom::store {

namespace {

using LossRecords = std::map<std::string, LossRecord>;  // by their keys

// Segments contain every batch up to this one.
StagedBatch newest_sealed(const Engine& engine) {
  StagedBatch newest{engine.sealed_sequence.load(), 0};
  for (const SegmentInfoPtr& segment : engine.views.get()->segments) {
    newest.received_unix_nano = std::max(newest.received_unix_nano, segment->last_received_unix_nano);
  }
  return newest;
}

// Counts the sequence numbers between two batches that have no batch. Failed writes also leave unused numbers, so the
// result is an upper bound.
Result<uint64_t> count_missing(Engine& engine, uint64_t after, uint64_t before) {
  uint64_t missing = 0;
  for (uint64_t at = std::max(after, engine.sealed_sequence.load()) + 1; at < before; ++at) {
    Result<bool> staged = is_staged(*engine.database, at);
    if (!staged) return staged.error();
    missing += *staged ? 0 : 1;
  }
  return missing;
}

// `later`: the first batch of the logs after the damaged one.
Result<RecordedLoss> assess(Engine& engine, const LogLoss& found, const std::optional<StagedBatch>& later) {
  const uint64_t now = engine.now();
  const StagedBatch before = found.before.value_or(newest_sealed(engine));
  RecordedLoss loss{.first_received_nano = before.received_unix_nano,
                    .last_received_nano = std::max(now, before.received_unix_nano) + kClockSaveNano,
                    .found_nano = now,
                    .bytes = found.range.bytes,
                    .most_batches = std::nullopt};
  const std::optional<StagedBatch> after = found.after ? found.after : later;
  if (!after) return loss;
  loss.last_received_nano = std::max(after->received_unix_nano, before.received_unix_nano);
  Result<uint64_t> missing = count_missing(engine, before.sequence, after->sequence);
  if (!missing) return missing.error();
  loss.most_batches = *missing;
  return loss;
}

std::string describe(const Loss& loss) {
  const std::string batches =
      loss.most_batches ? "at most " + plural(*loss.most_batches, "batch") : "an unknown number of batches";
  return batches + ", received between " + format_instant(loss.first_received_unix_nano) + " and " +
         format_instant(loss.last_received_unix_nano);
}

void report(const std::string& log, const Loss& loss) {
  const std::string damage = is_missing_mark(log) ? "the loss of a log, which is marked by the file " + log + ","
                                                  : "damage to " + plural(loss.bytes, "byte") + " of the log " + log;
  if (loss.most_batches == 0) {
    log_warning(damage + " destroyed no acknowledged span");
    return;
  }
  lost_batches().add(loss.most_batches.value_or(1));
  log_error(damage + " destroyed acknowledged spans: " + describe(loss));
}

Result<LossRecord> find_losses(Engine& engine, const LogPlaces& places, const std::string& log) {
  Database& database = *engine.database;
  rocksdb::Env& env = *database.db().GetEnv();
  const uint32_t stage = database.family(Family::kStage)->GetID();
  Result<std::vector<LogLoss>> found = losses_set_aside(env, places, log, stage);
  if (!found) return found.error();
  Result<std::optional<StagedBatch>> later = first_batch_after(env, places, log, stage);
  if (!later) return later.error();
  LossRecord record;
  for (const LogLoss& one : *found) {
    Result<RecordedLoss> loss = assess(engine, one, *later);
    if (!loss) return loss.error();
    record.losses.push_back(*loss);
  }
  for (const Loss& loss : losses_of_record(record, engine.clock->time())) report(log, loss);
  return record;
}

// Captures are compared with their files later (store/captures/capture_recovery.cc), hence the marker.
Result<> write_records(Database& database, const LossRecords& records) {
  rocksdb::WriteBatch batch;
  for (const auto& [key, found] : records) {
    batch.Put(database.family(Family::kDefault), key, encode_loss_record(found));
  }
  batch.Put(database.family(Family::kDefault), keys::kCapturesUnchecked, "");
  batch.Delete(database.family(Family::kDefault), keys::kIdentitiesUnchecked);
  rocksdb::WriteOptions options;
  options.sync = true;
  rocksdb::Status status = database.db().Write(options, &batch);
  if (status.ok()) status = database.flush({Family::kDefault});
  return status.ok() ? Result<>() : Result<>(from_status(status, "record a loss"));
}

Result<> load_recorded(Engine& engine) {
  Database& database = *engine.database;
  std::unique_ptr<rocksdb::Iterator> rows(database.db().NewIterator(scan_options(), database.family(Family::kDefault)));
  for (rows->Seek(keys::kLost); rows->Valid() && rows->key().ToStringView().starts_with(keys::kLost); rows->Next()) {
    Result<LossRecord> record = decode_loss_record(rows->value().ToStringView());
    if (record) {
      engine.losses.add(rows->key().ToString(), *std::move(record));
      continue;
    }
    lost_index_values("lost").add();
    log_error("the record of an earlier loss is damaged: " + record.error().message);
  }
  return rows->status().ok() ? Result<>() : Result<>(from_status(rows->status(), "read recorded losses"));
}

Result<bool> has_record(Database& database, const std::string& key) {
  std::string value;
  rocksdb::Status status = database.db().Get(rocksdb::ReadOptions(), database.family(Family::kDefault), key, &value);
  if (!status.ok() && !status.IsNotFound()) return from_status(status, "read recorded losses");
  return status.ok();
}

Result<LossRecords> find_unrecorded(Engine& engine) {
  Result<std::vector<std::string>> logs = unrecorded_logs(engine);
  if (!logs) return logs.error();
  LossRecords found;
  for (const std::string& log : *logs) {
    Result<LossRecord> losses = find_losses(engine, log_places(engine.options.path), log);
    if (!losses) return losses.error();
    found.emplace(keys::kLost + log, *losses);
  }
  return found;
}

}  // namespace

Result<std::vector<std::string>> unrecorded_logs(Engine& engine) {
  Result<std::vector<std::string>> logs =
      logs_set_aside(*engine.database->db().GetEnv(), log_places(engine.options.path));
  if (!logs) return logs.error();
  std::vector<std::string> unrecorded;
  for (const std::string& log : *logs) {
    Result<bool> recorded = has_record(*engine.database, keys::kLost + log);
    if (!recorded) return recorded.error();
    if (!*recorded) unrecorded.push_back(log);
  }
  return unrecorded;
}

Result<> load_losses(Engine& engine) {
  if (Result<> loaded = load_recorded(engine); !loaded) return loaded;
  Result<LossRecords> fresh = find_unrecorded(engine);
  if (!fresh) return fresh.error();
  // A repair copies identities as they are.
  Result<bool> repaired = has_record(*engine.database, keys::kIdentitiesUnchecked);
  if (!repaired) return repaired.error();
  if (fresh->empty() && !*repaired) return {};
  if (Result<> forgotten = forget_lost_identities(engine); !forgotten) return forgotten;
  if (Result<> restored = restore_identities(engine); !restored) return restored;
  if (Result<> recorded = write_records(*engine.database, *fresh); !recorded) return recorded;
  for (const auto& [key, record] : *fresh) engine.losses.add(key, record);
  return {};
}

void forget_losses(Engine& engine, uint64_t received_nano) {
  rocksdb::WriteBatch batch;
  for (const auto& [key, kept] : engine.losses.forget_through(received_nano, engine.clock->time())) {
    // An empty record stays, so that a log in DIR/damaged is not compared with the store again.
    batch.Put(engine.database->family(Family::kDefault), key, encode_loss_record(kept));
  }
  if (batch.Count() == 0) return;
  // Not synced: after a crash, the next drop forgets them again.
  rocksdb::Status status = engine.database->db().Write(rocksdb::WriteOptions(), &batch);
  if (!status.ok()) log_warning("cannot forget losses before the oldest stored span yet: " + status.ToString());
}

}  // namespace fathom::store
