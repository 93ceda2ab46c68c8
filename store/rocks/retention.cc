#include "store/rocks/retention.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "store/rocks/counters.h"
#include "store/rocks/keys.h"
#include "store/rocks/losses.h"
#include "store/rocks/operation_rows.h"
#include "store/rocks/scan_options.h"
#include "store/rocks/sealed_tally.h"
#include "store/rocks/stage_rows.h"

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

// On a disk that is full to the last byte, too.
Result<> write_small(Database& database, rocksdb::WriteBatch& batch, const char* doing) {
  if (Result<> room = database.make_small_room(); !room) return room;
  rocksdb::WriteOptions options;
  options.sync = true;
  const rocksdb::Status status = database.db().Write(options, &batch);
  return status.ok() ? Result<>() : Result<>(from_status(status, doing));
}

void put_drop(Database& database, uint32_t oldest, uint64_t sealed_sequence, rocksdb::WriteBatch& batch) {
  batch.Put(database.family(Family::kDefault), keys::kOldestPartition, oldest_partition_value(oldest));
  std::string sealed;
  ByteWriter(sealed).u64(sealed_sequence);
  batch.Put(database.family(Family::kDefault), keys::kSealedSequence, sealed);
}

// Notes of dropped partitions are turned into corrections in batches of this size: a full disk has room for one.
constexpr size_t kCorrectionBatchBytes = 64 << 10;

}  // namespace

Result<> record_drop(Engine& engine, uint32_t oldest, uint64_t sealed_sequence) {
  Database& database = *engine.database;
  rocksdb::WriteBatch batch;
  for (const SegmentInfoPtr& segment : engine.views.get()->segments) {
    if (segment->partition >= oldest) continue;
    batch.Delete(database.family(Family::kSegment), keys::segment(segment->partition, segment->id));
  }
  put_drop(database, oldest, sealed_sequence, batch);
  if (Result<> written = write_small(database, batch, "drop old partitions"); !written) return written;
  engine.live->set_oldest(oldest);
  engine.sealed_sequence = sealed_sequence;
  return {};
}

Result<> Retention::recover() {
  Result<> corrected = correct_traces();
  // A full disk has no room for corrections yet; queries go on.
  has_uncorrected_ = !corrected && corrected.error().code == ErrorCode::kUnavailable;
  if (!corrected && !has_uncorrected_) return corrected;
  if (Result<> loaded = load_corrections(); !loaded) return loaded;
  engine_.views.update([&](View& view) {
    view.corrections = corrections_;
    view.snapshot = take_snapshot(engine_.database->db());
  });
  if (!has_uncorrected_) engine_.live->set_corrected();
  delete_files();
  return {};
}

Result<> Retention::drop(const Drop& drop, Committer& committer) {
  if (!engine_.live->is_live(drop.through)) return {};
  if (Result<> written = write_drop(drop); !written) return written;
  is_drop_durable_ = true;
  has_uncorrected_ = true;
  has_files_ = true;
  // Before the view's snapshot, which would keep the deleted rows alive.
  for (size_t i = 0; i < drop.generations; ++i) {
    delete_stage_rows(*engine_.database, *engine_.views.get()->generations[i]);
  }
  Result<> corrected = correct(committer, drop.generations);
  engine_.catalogue.retire(drop.through + 1);
  delete_files();
  forget_operations();
  return corrected;
}

Result<> Retention::complete(Committer& committer) {
  if (has_files_) delete_files();
  return has_uncorrected_ ? correct(committer, 0) : Result<>();
}

// From here on the partitions are gone, whatever fails afterwards.
Result<> Retention::write_drop(const Drop& drop) {
  const ViewPtr view = engine_.views.get();
  uint64_t spans = 0, received_unix_nano = 0;
  for (const SegmentInfoPtr& segment : view->segments) {
    if (segment->partition > drop.through) continue;
    spans += segment->rows;
    received_unix_nano = std::max(received_unix_nano, segment->last_received_unix_nano);
  }
  uint64_t sealed_sequence = engine_.sealed_sequence.load();
  for (size_t i = 0; i < drop.generations; ++i) {
    spans += view->generations[i]->row_count();
    sealed_sequence = view->generations[i]->sources().back().sequence;
  }
  if (Result<> recorded = record_drop(engine_, drop.through + 1, sealed_sequence); !recorded) return recorded;
  dropped_spans(drop.reason).add(spans);
  forget_losses(engine_, received_unix_nano);
  return {};
}

// Even without corrections what was dropped must go from sight.
Result<> Retention::correct(Committer& committer, size_t dropped_generations) {
  Result<> corrected = correct_traces();
  if (corrected) corrected = load_corrections();
  committer.revise_generations(dropped_generations, [&](View& view) {
    std::erase_if(view.segments,
                  [&](const SegmentInfoPtr& segment) { return !engine_.live->is_live(segment->partition); });
    view.corrections = corrections_;
    view.snapshot = take_snapshot(engine_.database->db());
    past_eras_.push_back(std::exchange(view.era, std::make_shared<const bool>()));
  });
  has_uncorrected_ = !corrected;
  if (corrected) engine_.live->set_corrected();
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
  const std::string end = keys::partition(engine_.live->oldest());
  std::unique_ptr<rocksdb::Iterator> notes(
      database.db().NewIterator(scan_options(), database.family(Family::kStraddle)));
  notes->Seek(keys::partition(0));
  while (notes->Valid() && notes->key().ToStringView() < end) {
    if (Result<> corrected = correct_some(view, *notes, end); !corrected) return corrected;
  }
  if (!notes->status().ok()) return from_status(notes->status(), "read traces over several partitions");
  return {};
}

// One batch. A reader of its own, because readers keep what they decoded.
Result<> Retention::correct_some(const ViewPtr& view, rocksdb::Iterator& notes, std::string_view end) {
  Database& database = *engine_.database;
  QueryBudget unlimited;
  SealedReader reader(engine_.sealed(), view, unlimited);
  rocksdb::WriteBatch batch;
  for (; notes.Valid() && notes.key().ToStringView() < end; notes.Next()) {
    if (batch.GetDataSize() >= kCorrectionBatchBytes) break;
    std::optional<TraceId> id = keys::straddle_trace(notes.key().ToStringView());
    Result<> corrected = id ? correct_trace(reader, *id, batch) : Result<>(corrupt("the note itself is damaged"));
    if (!corrected && corrected.error().code != ErrorCode::kCorrupt) return corrected;
    if (!corrected) lose("straddle", corrected.error());
    batch.Delete(database.family(Family::kStraddle), notes.key());
  }
  return write_small(database, batch, "correct traces over several partitions");
}

Result<> Retention::correct_trace(SealedReader& reader, const TraceId& id, rocksdb::WriteBatch& batch) {
  Result<std::optional<TracePart>> known = reader.newest_part(id);
  if (!known) return known.error();
  if (*known && (*known)->summary.oversized) return correct_oversized(reader, id, std::move(**known), batch);
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
  put_correction(id, newest, batch);
  return {};
}

// Adds up what is left of the trace, part by part. Parts without a tally get one, so that their rows are read once.
Result<> Retention::correct_oversized(SealedReader& reader, const TraceId& id, TracePart newest,
                                      rocksdb::WriteBatch& batch) {
  Database& database = *engine_.database;
  PartTallies left{newest.partition, {}, {}};
  Result<> visited = reader.visit_parts(id, [&](const TracePart& part) -> Result<bool> {
    Result<TraceTally> own = tally_of_part(reader, id, part);
    if (!own) return own.error();
    if (part.segment == newest.segment) left.own = *own;
    left.whole.add(*own);
    left.first_partition = part.partition;
    if (part.tallies || part.segment == newest.segment) return true;
    TracePart tallied = part;
    tallied.tallies = PartTallies{0, *own, *own};  // partition 0 is never live: the part's `whole` is not known
    batch.Put(database.family(Family::kTrace), keys::trace(id, part.partition, part.segment),
              encode_trace_part(tallied));
    if (batch.GetDataSize() < kCorrectionBatchBytes) return true;
    Result<> written = write_small(database, batch, "keep tallies of an oversized trace");
    batch.Clear();
    return written ? Result<bool>(true) : Result<bool>(written.error());
  });
  if (!visited || left.own.empty()) return visited;
  newest.summary = left.whole.summary();
  newest.summary.oversized = true;
  newest.summary.grown = left.whole.spans > left.own.spans;
  newest.tallies = left;
  put_correction(id, newest, batch);
  return {};
}

void Retention::put_correction(const TraceId& id, const TracePart& newest, rocksdb::WriteBatch& batch) {
  Database& database = *engine_.database;
  std::string value = encode_trace_part(newest);
  batch.Put(database.family(Family::kTrace), keys::trace(id, newest.partition, newest.segment), value);
  batch.Put(database.family(Family::kCorrected), keys::straddle(newest.partition, id), value);
}

Result<> Retention::load_corrections() {
  Database& database = *engine_.database;
  auto corrected = std::make_shared<Corrections>(engine_.options.corrections_in_memory);
  OversizedTraces::Map oversized;
  rocksdb::WriteBatch outdated;
  std::unique_ptr<rocksdb::Iterator> rows(
      database.db().NewIterator(scan_options(), database.family(Family::kCorrected)));
  for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
    std::optional<TraceId> id = keys::straddle_trace(rows->key().ToStringView());
    bool live = engine_.live->is_live(keys::partition_of(rows->key().ToStringView()));
    Result<TracePart> part = decode_trace_part_value(rows->value().ToStringView());
    if (id && live && part) {
      // By partition, so that of an oversized trace the newest row stays. It covers all that is sealed.
      if (part->summary.oversized) oversized[*id] = {part->summary, engine_.sealed_sequence.load()};
      if (!part->summary.oversized) corrected->add(*id, part->summary);
      continue;
    }
    if (!id || live) lose("corrected", part ? corrupt("its key is damaged") : part.error());
    outdated.Delete(database.family(Family::kCorrected), rows->key());
    remove_beyond(outdated, kCorrectionBatchBytes);
  }
  if (!rows->status().ok()) return from_status(rows->status(), "read corrected traces");
  remove_beyond(outdated, 0);
  corrected->finish();
  corrected_traces().set(static_cast<int64_t>(corrected->count()));
  corrected_traces_in_memory().set(static_cast<int64_t>(corrected->in_memory().size()));
  corrections_ = std::move(corrected);
  engine_.oversized.replace(std::move(oversized));
  return {};
}

// Not synced, and a failure is no loss: the next time removes them. Not on a full disk, which has no room for it.
void Retention::remove_beyond(rocksdb::WriteBatch& outdated, size_t bytes) {
  if (outdated.GetDataSize() < bytes || outdated.Count() == 0) return;
  rocksdb::Status status = rocksdb::Status::NoSpace();
  if (engine_.writable.load()) status = engine_.database->db().Write(rocksdb::WriteOptions(), &outdated);
  if (!status.ok()) log_warning("cannot remove outdated corrections yet: " + status.ToString());
  outdated.Clear();
}

// A start may have read the record of a drop from a log that is in the page cache only. Without the record, segments
// would have lost their blocks. A drop while the store runs is synced.
Result<> Retention::make_drop_durable() {
  if (is_drop_durable_ || engine_.live->oldest() <= 1) return {};
  rocksdb::WriteBatch batch;
  put_drop(*engine_.database, engine_.live->oldest(), engine_.sealed_sequence.load(), batch);
  Result<> written = write_small(*engine_.database, batch, "record dropped partitions again");
  is_drop_durable_ = written.ok();
  return written;
}

void Retention::delete_files() {
  std::string begin = keys::partition(0);
  std::string end = keys::partition(engine_.live->oldest());
  has_files_ = false;
  if (Result<> room = engine_.database->make_small_room(); !room) {
    has_files_ = true;
    return log_warning("cannot delete files of dropped partitions yet: " + room.error().message);
  }
  if (Result<> recorded = make_drop_durable(); !recorded) {
    has_files_ = true;
    return log_warning("cannot delete files of dropped partitions yet: " + recorded.error().message);
  }
  // Not files of kSegment: record_drop() deletes its rows. A file with these deletions could go before the rows.
  for (Family family : {Family::kBlock, Family::kSlow, Family::kLatency}) {
    rocksdb::Status status = engine_.database->delete_files(family, begin, end);
    if (status.ok()) continue;
    has_files_ = true;
    log_warning("cannot delete files of dropped partitions yet: " + status.ToString());
  }
}

}  // namespace fathom::store
