#include "store/rocks/newest_stamp.h"

#include <algorithm>

#include "store/captures/capture_row.h"
#include "store/rocks/scan_options.h"

namespace fathom::store {

namespace {

std::string_view text_of(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// All of them, because a server before version 7 stamped by a clock that can go back.
Result<uint64_t> newest_staged(Database& database) {
  rocksdb::ReadOptions options = scan_options();
  options.total_order_seek = true;
  std::unique_ptr<rocksdb::Iterator> rows(database.db().NewIterator(options, database.family(Family::kStage)));
  uint64_t newest = 0;
  for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
    newest = std::max(newest, ByteReader(text_of(rows->value())).u64());
  }
  if (!rows->status().ok()) return from_status(rows->status(), "read the stage");
  return newest;
}

Result<uint64_t> newest_capture(Database& database) {
  std::unique_ptr<rocksdb::Iterator> rows(
      database.db().NewIterator(scan_options(), database.family(Family::kCaptureIndex)));
  const std::string series = capture_keys::receptions();
  rows->SeekForPrev(capture_keys::at(series, UINT64_MAX, {}));
  if (!rows->status().ok()) return from_status(rows->status(), "read the list of captures");
  const bool is_found = rows->Valid() && rows->key().starts_with(series);
  return is_found ? capture_keys::instant_of(text_of(rows->key())) : uint64_t{0};
}

// Skipped captures sort last, and their numbers are at least their times of reception.
Result<uint64_t> newest_skipped(Database& database) {
  std::unique_ptr<rocksdb::Iterator> rows(database.db().NewIterator(scan_options(), database.family(Family::kCapture)));
  rows->SeekToLast();
  if (!rows->status().ok()) return from_status(rows->status(), "read the captures");
  const CaptureId id = rows->Valid() ? capture_keys::id_of(text_of(rows->key())) : CaptureId();
  return is_skipped(id) ? skipped_number(id) : uint64_t{0};
}

}  // namespace

Result<uint64_t> newest_stamp(Engine& engine) {
  Result<uint64_t> staged = newest_staged(*engine.database);
  if (!staged) return staged;
  Result<uint64_t> captured = newest_capture(*engine.database);
  if (!captured) return captured;
  Result<uint64_t> skipped = newest_skipped(*engine.database);
  if (!skipped) return skipped;
  uint64_t newest = std::max({*staged, *captured, *skipped});
  for (const SegmentInfoPtr& segment : engine.views.get()->segments) {
    newest = std::max(newest, segment->last_received_unix_nano);
  }
  return newest;
}

}  // namespace fathom::store
