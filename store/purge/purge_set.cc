#include "store/purge/purge_set.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "store/batch.h"
#include "store/captures/blob_files.h"
#include "store/captures/capture_row.h"
#include "store/index/slow_list.h"
#include "store/rocks/keys.h"
#include "store/rocks/scan_options.h"
#include "store/verify/capture_check.h"

namespace fathom::store {

namespace {

// All attributes of a span but those of its resource.
void gather(const StoredRow& row, std::vector<AttributeView>& attributes) {
  const auto add = [&](std::span<const AttributeView> more) {
    attributes.insert(attributes.end(), more.begin(), more.end());
  };
  attributes.clear();
  add(row.span.attributes);
  add(row.scope.attributes);
  for (const EventView& event : row.span.events) add(event.attributes);
  for (const LinkView& link : row.span.links) add(link.attributes);
}

class PurgeSearch {
 public:
  PurgeSearch(const PurgeSource& source, const PurgeRule& rule, Findings& progress, PurgeSet& found)
      : source_(source), rule_(rule), progress_(progress), found_(found) {}

  Result<> run() {
    if (Result<> done = find_sealed(); !done) return done;
    if (Result<> done = find_unsealed(); !done) return done;
    return find_captures();
  }

 private:
  Result<> find_sealed() {
    QueryBudget unlimited;
    SealedReader reader(source_.context, source_.view, unlimited);
    for (const SegmentInfoPtr& segment : source_.view->segments) {
      if (segment->rows == 0) continue;
      if (rule_.is_cancelled()) return Error{ErrorCode::kCancelled, "the purge was cancelled"};
      if (Result<> done = find_in(reader, *segment); !done) return done;
      reader.close(segment->id);
      progress_.read_bytes(segment->bytes);
    }
    return {};
  }

  Result<> find_in(SealedReader& reader, const SegmentInfo& info) {
    Result<SegmentReader*> segment = reader.segment(info);
    if (!segment) return segment.error();
    const SegmentDirectory& directory = (*segment)->directory();
    for (uint32_t block = 0; block < directory.block_count(); ++block) {
      Result<StoredRows> rows = (*segment)->rows(block, 0, directory.zone(block).rows);
      if (!rows) return rows.error();
      for (const StoredRow& row : rows->rows) look_at(row);
    }
    return {};
  }

  // Of a directory whose server was not asked to seal first: the batches behind the last segment.
  Result<> find_unsealed() {
    std::unique_ptr<rocksdb::Iterator> rows(
        source_.database.db().NewIterator(scan_options(), source_.database.family(Family::kStage)));
    uint64_t sealed = 0;
    for (const SegmentInfoPtr& segment : source_.view->segments) sealed = std::max(sealed, segment->last_sequence);
    for (rows->Seek(keys::stage(sealed + 1)); rows->Valid(); rows->Next()) {
      const std::string_view value = rows->value().ToStringView();
      Result<BatchPtr> batch = Batch::parse(std::string(value.substr(std::min<size_t>(8, value.size()))));
      if (!batch) return batch.error();
      look_at(**batch);
    }
    return rows->status().ok() ? Result<>() : Result<>(from_status(rows->status(), "read batches"));
  }

  void look_at(const Batch& batch) {
    Batch::Scratch scratch;
    for (const Batch::Row& row : batch.rows()) {
      StoredRow stored;
      stored.span = batch.span(row, scratch);
      stored.resource = batch.resource(row.resource);
      stored.scope = batch.scope(row.scope);
      look_at(stored);
    }
  }

  void look_at(const StoredRow& row) {
    gather(row, attributes_);
    for (const Condition& condition : rule_.where) {
      if (!holds(condition, attributes_, row.resource.attributes)) return;
    }
    ++found_.matching_spans;
    found_.traces.insert(row.span.trace_id);
  }

  Result<> find_captures() {
    if (!source_.database.has(Family::kCapture)) return {};
    std::unique_ptr<rocksdb::Iterator> rows(
        source_.database.db().NewIterator(scan_options(), source_.database.family(Family::kCapture)));
    for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
      Result<CaptureInfo> info = decode_capture(rows->key().ToStringView(), rows->value().ToStringView());
      if (!info) return info.error();
      if (Result<> done = look_at(*info); !done) return done;
    }
    return rows->status().ok() ? Result<>() : Result<>(from_status(rows->status(), "read captures"));
  }

  Result<> look_at(const CaptureInfo& info) {
    if (rule_.is_cancelled()) return Error{ErrorCode::kCancelled, "the purge was cancelled"};
    bool is_purged = found_.traces.contains(info.trace_id);
    if (!is_purged && !is_skipped(info.id)) {
      Result<bool> tells = content_tells(info);
      if (!tells) return tells.error();
      is_purged = *tells;
    }
    if (!is_purged) return {};
    found_.captures.insert(info.id);
    if (is_skipped(info.id)) ++found_.skipped_captures;
    return {};
  }

  // Captures of one stall share a content, which is decoded once.
  Result<bool> content_tells(const CaptureInfo& info) {
    const auto known = contents_.find(info.sha256);
    if (known != contents_.end()) return known->second;
    std::string content;
    const BlobFiles files(*rocksdb::Env::Default(), source_.path, /*sync=*/false);
    Result<> read = read_content(files, info.sha256, info.size_bytes, [&](std::string_view piece) -> Result<> {
      content.append(piece);
      return {};
    });
    if (!read) return read.error();
    progress_.read_bytes(content.size());
    Result<bool> tells = rule_.is_purged_content(content, found_.traces);
    if (!tells && tells.error().code != ErrorCode::kCorrupt) return tells;
    if (!tells) found_.unreadable.push_back(info.id);
    return contents_[info.sha256] = tells.ok() && *tells;
  }

  const PurgeSource& source_;
  const PurgeRule& rule_;
  Findings& progress_;
  PurgeSet& found_;
  std::vector<AttributeView> attributes_;
  std::map<Sha256, bool> contents_;
};

Result<uint64_t> count_listed(Database& database, const TraceSet& traces) {
  uint64_t count = 0;
  std::unique_ptr<rocksdb::Iterator> lists(database.db().NewIterator(scan_options(), database.family(Family::kSlow)));
  for (lists->SeekToFirst(); lists->Valid(); lists->Next()) {
    Result<SlowList> list = SlowList::decode(lists->value().ToStringView());
    if (!list) return list.error();
    for (const SlowEntry& entry : list->entries) count += traces.contains(entry.trace_id) ? 1 : 0;
  }
  if (!lists->status().ok()) return from_status(lists->status(), "read slow lists");
  return count;
}

}  // namespace

Result<> find_purged(const PurgeSource& source, const PurgeRule& rule, Findings& progress, PurgeSet& found) {
  return PurgeSearch(source, rule, progress, found).run();
}

Result<uint64_t> count_indexed(const PurgeSource& source, const TraceSet& traces) {
  uint64_t count = 0;
  std::unique_ptr<rocksdb::Iterator> index(
      source.database.db().NewIterator(scan_options(), source.database.family(Family::kTrace)));
  for (index->SeekToFirst(); index->Valid(); index->Next()) {
    const std::optional<TraceId> id = keys::trace_id(index->key().ToStringView());
    if (id && traces.contains(*id)) ++count;
  }
  if (!index->status().ok()) return from_status(index->status(), "read the trace index");
  Result<uint64_t> listed = count_listed(source.database, traces);
  return listed ? Result<uint64_t>(count + *listed) : listed;
}

}  // namespace fathom::store
