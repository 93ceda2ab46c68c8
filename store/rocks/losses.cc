#include "store/rocks/losses.h"

#include <algorithm>
#include <map>

#include "base/log.h"
#include "base/time.h"
#include "store/rocks/counters.h"
#include "store/rocks/keys.h"
#include "store/rocks/reconcile.h"
#include "store/rocks/scan_options.h"
#include "store/wal/log_repair.h"

namespace fathom::store {

namespace {

constexpr uint8_t kRecordVersion = 1;

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

// The times of everything that was received between two stamps. If the wall clock was stepped between them, one of the
// two offsets applies to each batch, and the later stamp may have the earlier time.
void set_received(Loss& loss, const AgeClock& clock, uint64_t from_nano, uint64_t to_nano) {
  const uint64_t first = clock.unix_of(from_nano), last = clock.unix_of(to_nano), between = to_nano - from_nano;
  loss.first_received_unix_nano = std::min(first, last - std::min(last, between));
  loss.last_received_unix_nano = std::max(last, end_of(first, between));
}

// `later`: the first batch of the logs after the damaged one.
Result<Loss> assess(Engine& engine, const LogLoss& found, const std::optional<StagedBatch>& later) {
  const uint64_t now = engine.now();
  const StagedBatch before = found.before.value_or(newest_sealed(engine));
  const AgeClock& clock = *engine.clock;
  Loss loss{.first_received_unix_nano = 0,
            .last_received_unix_nano = 0,
            .found_unix_nano = clock.unix_of(now),
            .bytes = found.range.bytes,
            .most_batches = std::nullopt};
  const std::optional<StagedBatch> after = found.after ? found.after : later;
  const uint64_t until = after ? after->received_unix_nano : now;
  set_received(loss, clock, before.received_unix_nano, std::max(until, before.received_unix_nano));
  if (!after) return loss;
  Result<uint64_t> missing = count_missing(engine, before.sequence, after->sequence);
  if (!missing) return missing.error();
  loss.most_batches = *missing;
  return loss;
}

std::string describe(const Loss& loss) {
  const std::string batches =
      loss.most_batches ? "at most " + std::to_string(*loss.most_batches) + " batches" : "an unknown number of batches";
  return batches + ", received between " + format_instant(loss.first_received_unix_nano) + " and " +
         format_instant(loss.last_received_unix_nano);
}

void report(const std::string& log, const Loss& loss) {
  if (loss.most_batches == 0) {
    log_warning("damage to " + std::to_string(loss.bytes) + " bytes of the log " + log +
                " destroyed no acknowledged span");
    return;
  }
  lost_batches().add(loss.most_batches.value_or(1));
  log_error("damage to " + std::to_string(loss.bytes) + " bytes of the log " + log +
            " destroyed acknowledged spans: " + describe(loss));
}

Result<std::vector<Loss>> find_losses(Engine& engine, const LogPlaces& places, const std::string& log) {
  Database& database = *engine.database;
  rocksdb::Env& env = *database.db().GetEnv();
  const uint32_t stage = database.family(Family::kStage)->GetID();
  Result<std::vector<LogLoss>> found = losses_of(env, places, log, stage);
  if (!found) return found.error();
  Result<std::optional<StagedBatch>> later = first_batch_after(env, places, log, stage);
  if (!later) return later.error();
  std::vector<Loss> losses;
  for (const LogLoss& one : *found) {
    Result<Loss> loss = assess(engine, one, *later);
    if (!loss) return loss.error();
    report(log, *loss);
    losses.push_back(*loss);
  }
  return losses;
}

// Captures are compared with their files later (store/captures/capture_recovery.cc), hence the marker.
Result<> record(Database& database, const std::map<std::string, std::vector<Loss>>& losses) {
  rocksdb::WriteBatch batch;
  for (const auto& [key, found] : losses) {
    batch.Put(database.family(Family::kDefault), key, encode_losses(found));
  }
  batch.Put(database.family(Family::kDefault), keys::kCapturesUnchecked, "");
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
    Result<std::vector<Loss>> losses = decode_losses(rows->value().ToStringView());
    if (losses) {
      engine.losses.add(rows->key().ToString(), *losses);
      continue;
    }
    lost_index_values("lost").add();
    log_error("the record of an earlier loss is damaged: " + losses.error().message);
  }
  return rows->status().ok() ? Result<>() : Result<>(from_status(rows->status(), "read recorded losses"));
}

Result<bool> is_recorded(Database& database, const std::string& key) {
  std::string value;
  rocksdb::Status status = database.db().Get(rocksdb::ReadOptions(), database.family(Family::kDefault), key, &value);
  if (!status.ok() && !status.IsNotFound()) return from_status(status, "read recorded losses");
  return status.ok();
}

// By the key of their record: the losses of logs whose losses were not recorded yet.
Result<std::map<std::string, std::vector<Loss>>> find_unrecorded(Engine& engine) {
  const LogPlaces places = log_places(engine.options.path);
  Result<std::vector<std::string>> logs = logs_set_aside(*engine.database->db().GetEnv(), places);
  if (!logs) return logs.error();
  std::map<std::string, std::vector<Loss>> found;
  for (const std::string& log : *logs) {
    const std::string key = keys::kLost + log;
    Result<bool> recorded = is_recorded(*engine.database, key);
    if (!recorded) return recorded.error();
    if (*recorded) continue;
    Result<std::vector<Loss>> losses = find_losses(engine, places, log);
    if (!losses) return losses.error();
    found.emplace(key, *losses);
  }
  return found;
}

}  // namespace

std::string encode_losses(const std::vector<Loss>& losses) {
  std::string value;
  ByteWriter out(value);
  out.u8(kRecordVersion);
  for (const Loss& loss : losses) {
    out.u64(loss.first_received_unix_nano);
    out.u64(loss.last_received_unix_nano);
    out.u64(loss.found_unix_nano);
    out.varint(loss.bytes);
    out.varint(loss.most_batches ? *loss.most_batches + 1 : 0);
  }
  return value;
}

Result<std::vector<Loss>> decode_losses(std::string_view value) {
  ByteReader in(value);
  const uint8_t version = in.u8();
  std::vector<Loss> losses;
  while (!in.failed() && !in.at_end() && version == kRecordVersion) {
    Loss& loss = losses.emplace_back();
    loss.first_received_unix_nano = in.u64();
    loss.last_received_unix_nano = in.u64();
    loss.found_unix_nano = in.u64();
    loss.bytes = in.varint();
    if (uint64_t batches = in.varint(); batches > 0) loss.most_batches = batches - 1;
  }
  if (in.failed() || version != kRecordVersion) return corrupt("it does not decode");
  return losses;
}

Result<> load_losses(Engine& engine) {
  if (Result<> loaded = load_recorded(engine); !loaded) return loaded;
  Result<std::map<std::string, std::vector<Loss>>> fresh = find_unrecorded(engine);
  if (!fresh) return fresh.error();
  if (fresh->empty()) return {};
  if (Result<> forgotten = forget_lost_identities(engine); !forgotten) return forgotten;
  if (Result<> restored = restore_identities(engine); !restored) return restored;
  if (Result<> recorded = record(*engine.database, *fresh); !recorded) return recorded;
  for (const auto& [key, losses] : *fresh) engine.losses.add(key, losses);
  return {};
}

void forget_losses(Engine& engine, uint64_t received_nano) {
  rocksdb::WriteBatch batch;
  for (const auto& [key, kept] : engine.losses.forget_through(engine.clock->unix_of(received_nano))) {
    // An empty record stays, so that a log in DIR/damaged is not compared with the store again.
    batch.Put(engine.database->family(Family::kDefault), key, encode_losses(kept));
  }
  if (batch.Count() == 0) return;
  // Not synced: after a crash, the next drop forgets them again.
  rocksdb::Status status = engine.database->db().Write(rocksdb::WriteOptions(), &batch);
  if (!status.ok()) log_warning("cannot forget losses before the oldest stored span yet: " + status.ToString());
}

}  // namespace fathom::store
