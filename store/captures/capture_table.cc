#include "store/captures/capture_table.h"

#include <rocksdb/write_batch.h>

#include "base/log.h"
#include "store/captures/blob_files.h"
#include "store/rocks/counters.h"
#include "store/rocks/scan_options.h"

namespace fathom::store {

namespace {

std::string_view view_of(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// The rows of one index, or of a part of it, as they are at one moment.
class Rows {
 public:
  Rows(Database& database, std::string prefix)
      : database_(database), prefix_(std::move(prefix)), snapshot_(database.db().GetSnapshot()) {
    options_.snapshot = snapshot_;
    rows_.reset(database.db().NewIterator(options_, database.family(Family::kCaptureIndex)));
  }
  ~Rows() {
    rows_.reset();
    database_.db().ReleaseSnapshot(snapshot_);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  rocksdb::Iterator* operator->() const { return rows_.get(); }
  const rocksdb::Iterator& iterator() const { return *rows_; }
  const rocksdb::ReadOptions& options() const { return options_; }
  bool inside() const { return rows_->Valid() && rows_->key().starts_with(prefix_); }
  Result<> end() const {
    return rows_->status().ok() ? Result<>() : Result<>(from_status(rows_->status(), "read the list of captures"));
  }

 private:
  Database& database_;
  const std::string prefix_;
  const rocksdb::Snapshot* snapshot_;
  rocksdb::ReadOptions options_ = scan_options();
  std::unique_ptr<rocksdb::Iterator> rows_;
};

CaptureTable::Kind kind_of(const rocksdb::Iterator& index_row) {
  const bool skipped = is_skipped(capture_keys::id_of(view_of(index_row.key())));
  return skipped ? CaptureTable::Kind::kSkipped : CaptureTable::Kind::kCapture;
}

}  // namespace

template <typename Change>
void CaptureTable::for_each_row(const CaptureInfo& info, const Change& change) const {
  rocksdb::ColumnFamilyHandle* index = database_.family(Family::kCaptureIndex);
  auto place = [&](std::string series) {
    change(index, capture_keys::at(std::move(series), info.start_unix_nano, info.id), "");
  };
  change(database_.family(Family::kCapture), capture_keys::capture(info.id), encode_capture(info));
  if (!info.trace_id.is_zero()) place(capture_keys::trace_series(info.trace_id));
  // Skipped captures have no content; lists of captures and retention must not have to read them.
  if (is_skipped(info.id)) return;
  change(index, capture_keys::reception(info.received_unix_nano, info.id), "");
  change(index, capture_keys::content(info.sha256, info.id), encode_content_size(info.size_bytes));
  place(capture_keys::all_series());
  place(capture_keys::service_series(info.service));
  place(capture_keys::process_series({info.node_id, info.pid}));
}

void CaptureTable::put(const CaptureInfo& info, rocksdb::WriteBatch& batch) const {
  for_each_row(info, [&](rocksdb::ColumnFamilyHandle* family, const std::string& key, const std::string& value) {
    batch.Put(family, key, value);
  });
}

void CaptureTable::erase(const CaptureInfo& info, rocksdb::WriteBatch& batch) const {
  for_each_row(info, [&](rocksdb::ColumnFamilyHandle* family, const std::string& key, const std::string&) {
    batch.Delete(family, key);
  });
}

Result<std::optional<CaptureInfo>> CaptureTable::get(const CaptureId& id) const {
  return get(id, rocksdb::ReadOptions());
}

Result<std::optional<CaptureInfo>> CaptureTable::get(const CaptureId& id, const rocksdb::ReadOptions& options) const {
  std::string key = capture_keys::capture(id), value;
  rocksdb::Status status = database_.db().Get(options, database_.family(Family::kCapture), key, &value);
  if (status.IsNotFound()) return std::optional<CaptureInfo>();
  if (!status.ok()) return from_status(status, "read a capture's row");
  Result<CaptureInfo> info = decode_capture(key, value);
  if (!info) return info.error();
  return std::optional(std::move(*info));
}

Result<bool> CaptureTable::refers_to(const Sha256& hash) const {
  Rows rows(database_, capture_keys::content_prefix(hash));
  rows->Seek(capture_keys::content_prefix(hash));
  bool found = rows.inside();
  if (Result<> end = rows.end(); !end) return end.error();
  return found;
}

Result<std::optional<uint64_t>> CaptureTable::content_bytes(const Sha256& hash) const {
  Rows rows(database_, capture_keys::content_prefix(hash));
  rows->Seek(capture_keys::content_prefix(hash));
  if (Result<> end = rows.end(); !end) return end.error();
  if (!rows.inside()) return std::optional<uint64_t>();
  Result<uint64_t> bytes = decode_content_size(view_of(rows->value()));
  if (!bytes) return bytes.error();
  return std::optional(*bytes);
}

// An index row's capture, given to `visit`; true: go on.
Result<bool> CaptureTable::visit_row(const rocksdb::Iterator& row, const rocksdb::ReadOptions& options,
                                     const Visit& visit) const {
  Result<std::optional<CaptureInfo>> info = get(capture_keys::id_of(view_of(row.key())), options);
  if (info.ok() && *info) return visit(**info);
  if (!info.ok() && info.error().code != ErrorCode::kCorrupt) return info.error();
  lost_index_values("capture").add();
  return true;
}

Result<> CaptureTable::oldest_first(const std::string& from_key, const Visit& visit) const {
  Rows rows(database_, capture_keys::receptions());
  rows->Seek(std::max(from_key, capture_keys::receptions()));
  for (; rows.inside(); rows->Next()) {
    Result<bool> more = visit_row(rows.iterator(), rows.options(), visit);
    if (!more) return more.error();
    if (!*more) break;
  }
  return rows.end();
}

Result<> CaptureTable::all(const Visit& visit, const std::function<void(const std::string& key)>& damaged) const {
  std::unique_ptr<rocksdb::Iterator> rows(
      database_.db().NewIterator(scan_options(), database_.family(Family::kCapture)));
  for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
    Result<CaptureInfo> info = decode_capture(view_of(rows->key()), view_of(rows->value()));
    if (!info) {
      log_error("a capture is lost: " + info.error().message);
      damaged(rows->key().ToString());
      continue;
    }
    Result<bool> more = visit(*info);
    if (!more) return more.error();
    if (!*more) break;
  }
  return rows->status().ok() ? Result<>() : Result<>(from_status(rows->status(), "read the captures"));
}

Result<> CaptureTable::ascending(const std::string& series, Kind kind, const Visit& visit) const {
  Rows rows(database_, series);
  for (rows->Seek(series); rows.inside(); rows->Next()) {
    if (kind_of(rows.iterator()) != kind) continue;
    Result<bool> more = visit_row(rows.iterator(), rows.options(), visit);
    if (!more) return more.error();
    if (!*more) break;
  }
  return rows.end();
}

Result<> CaptureTable::descending(const std::string& series, const TimeRange& range,
                                  const std::optional<CaptureCursor>& cursor, const Visit& visit) const {
  Rows rows(database_, series);
  // Both ends are behind what is wanted: a range ends before `to`, a page begins before the cursor.
  std::string end = capture_keys::at(series, range.to_unix_nano, {});
  if (cursor) end = std::min(end, capture_keys::at(series, cursor->start_unix_nano, cursor->id));
  rows->SeekForPrev(end);
  if (rows.inside() && rows->key() == end) rows->Prev();
  for (; rows.inside() && capture_keys::instant_of(view_of(rows->key())) >= range.from_unix_nano; rows->Prev()) {
    if (kind_of(rows.iterator()) != Kind::kCapture) continue;
    Result<bool> more = visit_row(rows.iterator(), rows.options(), visit);
    if (!more) return more.error();
    if (!*more) break;
  }
  return rows.end();
}

Result<> CaptureTable::traces(const std::function<Result<>(const TraceId&)>& visit) const {
  Rows rows(database_, capture_keys::traces());
  TraceId last;
  for (rows->Seek(capture_keys::traces()); rows.inside(); rows->Next()) {
    const TraceId id = capture_keys::trace_of(view_of(rows->key()));
    if (id == last || is_skipped(capture_keys::id_of(view_of(rows->key())))) continue;
    last = id;
    if (Result<> visited = visit(id); !visited) return visited;
  }
  return rows.end();
}

Result<> CaptureTable::contents(uint8_t bucket, const VisitContent& visit) const {
  Rows rows(database_, capture_keys::contents());
  Sha256 first;
  first.bytes[0] = static_cast<uint8_t>(bucket << 4);
  for (rows->Seek(capture_keys::content_prefix(first)); rows.inside(); rows->Next()) {
    Sha256 hash = capture_keys::hash_of(view_of(rows->key()));
    if (BlobFiles::bucket_of(hash) != bucket) break;
    visit(hash, decode_content_size(view_of(rows->value())));
  }
  return rows.end();
}

Result<> CaptureTable::remove_dangling() const {
  Rows rows(database_, "");
  rocksdb::WriteBatch batch;
  for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
    Result<std::optional<CaptureInfo>> info = get(capture_keys::id_of(view_of(rows->key())), rows.options());
    bool there = info.ok() && *info;
    if (!info.ok() && info.error().code != ErrorCode::kCorrupt) return info.error();
    if (!there) batch.Delete(database_.family(Family::kCaptureIndex), rows->key());
  }
  if (Result<> end = rows.end(); !end) return end;
  rocksdb::Status status = database_.db().Write(rocksdb::WriteOptions(), &batch);
  return status.ok() ? Result<>() : Result<>(from_status(status, "remove rows of lost captures"));
}

}  // namespace fathom::store
