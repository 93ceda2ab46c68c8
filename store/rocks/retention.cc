#include "store/rocks/retention.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "store/rocks/counters.h"
#include "store/rocks/keys.h"
#include "store/rocks/losses.h"
#include "store/rocks/operation_rows.h"

namespace fathom::store {

namespace {

// A trace whose correction is lost keeps an outdated summary, as one of the index's values that is lost does; that is
// no reason to answer nothing at all.
void lose(std::string_view index, const Error& why) {
  lost_index_values(index).add();
  log_error("the correction of a trace that lost spans to retention is lost itself: " + why.message);
}

std::string oldest_partition_value(uint32_t partition) {
  std::string value;
  append_be32(value, partition);
  return value;
}

}  // namespace

Result<> record_drop(Engine& engine, uint32_t oldest) {
  Database& database = *engine.database;
  rocksdb::WriteBatch batch;
  for (const SegmentInfoPtr& segment : engine.views.get()->segments) {
    if (segment->partition >= oldest) continue;
    batch.Delete(database.family(Family::kSegment), keys::segment(segment->partition, segment->id));
  }
  batch.Put(database.family(Family::kDefault), keys::kOldestPartition, oldest_partition_value(oldest));
  std::string sealed;
  ByteWriter(sealed).u64(engine.sealed_sequence.load());
  batch.Put(database.family(Family::kDefault), keys::kSealedSequence, sealed);
  rocksdb::WriteOptions options;
  options.sync = true;
  rocksdb::Status status = database.db().Write(options, &batch);
  // Files are deleted next, so the record must not depend on the log.
  if (status.ok()) status = database.flush({Family::kDefault, Family::kSegment});
  if (!status.ok()) return from_status(status, "drop old partitions");
  engine.live->set_oldest(oldest);
  return {};
}

Result<> Retention::recover() {
  if (Result<> corrected = correct_traces(); !corrected) return corrected;
  if (Result<> loaded = load_corrections(); !loaded) return loaded;
  delete_files();
  forget_operations();
  return {};
}

Result<> Retention::drop_through(uint32_t partition, const char* reason) {
  if (!engine_.live->is_live(partition)) return {};
  uint64_t spans = 0, received_unix_nano = 0;
  for (const SegmentInfoPtr& segment : engine_.views.get()->segments) {
    if (segment->partition > partition) continue;
    spans += segment->rows;
    received_unix_nano = std::max(received_unix_nano, segment->last_received_unix_nano);
  }
  if (Result<> recorded = record_drop(engine_, partition + 1); !recorded) return recorded;
  engine_.catalogue.retire(partition + 1);
  dropped_spans(reason).add(spans);
  forget_losses(engine_, received_unix_nano);
  Result<> corrected = correct_traces();
  if (corrected) corrected = load_corrections();
  // Even without corrections the dropped segments must go from sight.
  engine_.views.update([&](View& view) {
    std::erase_if(view.segments, [&](const SegmentInfoPtr& segment) { return segment->partition <= partition; });
    view.snapshot = take_snapshot(engine_.database->db());
    past_eras_.push_back(std::exchange(view.era, std::make_shared<const bool>()));
  });
  delete_files();
  forget_operations();
  return corrected;
}

void Retention::forget_operations() {
  std::erase_if(past_eras_, [](const std::weak_ptr<const bool>& era) { return era.expired(); });
  if (past_eras_.empty()) store::forget_operations(engine_);
}

// Turns the notes of dropped partitions into corrections. Repeating it is harmless.
Result<> Retention::correct_traces() {
  Database& database = *engine_.database;
  auto view = std::make_shared<View>(*engine_.views.get());
  view->snapshot = take_snapshot(database.db());
  QueryBudget unlimited;
  SealedReader reader(engine_.sealed(), view, unlimited);
  rocksdb::WriteBatch batch, done;
  std::string end = keys::partition(engine_.live->oldest());
  std::unique_ptr<rocksdb::Iterator> notes(
      database.db().NewIterator(rocksdb::ReadOptions(), database.family(Family::kStraddle)));
  for (notes->Seek(keys::partition(0)); notes->Valid() && notes->key().ToStringView() < end; notes->Next()) {
    std::optional<TraceId> id = keys::straddle_trace(notes->key().ToStringView());
    Result<> corrected = id ? correct_trace(reader, *id, batch) : Result<>(corrupt("the note itself is damaged"));
    if (!corrected && corrected.error().code != ErrorCode::kCorrupt) return corrected;
    if (!corrected) lose("straddle", corrected.error());
    done.Delete(database.family(Family::kStraddle), notes->key());
  }
  if (!notes->status().ok()) return from_status(notes->status(), "read traces over several partitions");
  if (done.Count() == 0) return {};
  rocksdb::WriteOptions options;
  options.sync = true;
  rocksdb::Status status = database.db().Write(options, &batch);
  // Notes are deleted after the corrections have left the log: damage to the log must not destroy both.
  if (status.ok()) status = database.flush({Family::kTrace, Family::kCorrected});
  if (status.ok()) status = database.db().Write(rocksdb::WriteOptions(), &done);
  return status.ok() ? Result<>() : Result<>(from_status(status, "correct traces over several partitions"));
}

Result<> Retention::correct_trace(SealedReader& reader, const TraceId& id, rocksdb::WriteBatch& batch) {
  Result<std::vector<TracePart>> parts = reader.parts(id);
  if (!parts) return parts.error();
  std::vector<TraceRow> rows;
  for (const TracePart& part : *parts) {
    Result<std::vector<TraceRow>> some = reader.rows(id, part);
    if (!some) return some.error();
    rows.insert(rows.end(), some->begin(), some->end());
  }
  if (rows.empty()) return {};
  TracePart newest = parts->back();
  newest.summary = summarise(rows);
  newest.summary.grown = parts->size() > 1;
  Database& database = *engine_.database;
  std::string value = encode_trace_part(newest);
  batch.Put(database.family(Family::kTrace), keys::trace(id, newest.partition, newest.segment), value);
  batch.Put(database.family(Family::kCorrected), keys::straddle(newest.partition, id), value);
  return {};
}

Result<> Retention::load_corrections() {
  Database& database = *engine_.database;
  auto corrected = std::make_shared<Corrections>();
  rocksdb::WriteBatch outdated;
  std::unique_ptr<rocksdb::Iterator> rows(
      database.db().NewIterator(rocksdb::ReadOptions(), database.family(Family::kCorrected)));
  for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
    std::optional<TraceId> id = keys::straddle_trace(rows->key().ToStringView());
    bool live = engine_.live->is_live(keys::partition_of(rows->key().ToStringView()));
    Result<TracePart> part = decode_trace_part_value(rows->value().ToStringView());
    if (id && live && part) {
      corrected->emplace(*id, part->summary);
      continue;
    }
    if (!id || live) lose("corrected", part ? corrupt("its key is damaged") : part.error());
    outdated.Delete(database.family(Family::kCorrected), rows->key());
  }
  if (!rows->status().ok()) return from_status(rows->status(), "read corrected traces");
  rocksdb::Status status = database.db().Write(rocksdb::WriteOptions(), &outdated);
  if (!status.ok()) log_warning("cannot remove outdated corrections yet: " + status.ToString());
  engine_.views.update([&](View& view) {
    view.corrections = corrected;
    view.snapshot = take_snapshot(database.db());
  });
  return {};
}

void Retention::delete_files() {
  std::string begin = keys::partition(0);
  std::string end = keys::partition(engine_.live->oldest());
  // Not files of kSegment: record_drop() deletes its rows. A file with these deletions could go before the rows.
  for (Family family : {Family::kBlock, Family::kSlow, Family::kLatency}) {
    rocksdb::Status status = engine_.database->delete_files(family, begin, end);
    if (!status.ok()) log_warning("cannot delete files of dropped partitions yet: " + status.ToString());
  }
}

}  // namespace fathom::store
