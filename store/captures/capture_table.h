// CaptureTable: the rows of captures in the database.
//
// Purpose: which rows a capture has (docs/formats/captures.md), and how they are found. Thread safety: all of it; what
// is put into one batch is the caller's to write. Ownership: the database must outlive it. Errors: from the database;
// kCorrupt for a row that does not decode.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "store/captures/capture_row.h"
#include "store/rocks/database.h"

namespace fathom::store {

class CaptureTable {
 public:
  explicit CaptureTable(Database& database) : database_(database) {}

  void put(const CaptureInfo& info, rocksdb::WriteBatch& batch) const;
  void erase(const CaptureInfo& info, rocksdb::WriteBatch& batch) const;

  Result<std::optional<CaptureInfo>> get(const CaptureId& id) const;
  // Whether any capture has this content.
  Result<bool> refers_to(const Sha256& hash) const;
  // Nothing: no capture has this content.
  Result<std::optional<uint64_t>> content_bytes(const Sha256& hash) const;

  // Calls back with one capture after another until it says false. A row that is damaged is counted and left out.
  using Visit = std::function<Result<bool>(const CaptureInfo&)>;
  // By reception, oldest first, from this key of the index (or the first) on. Without skipped captures.
  Result<> oldest_first(const std::string& from_key, const Visit& visit) const;
  // All captures that the rows' own family has, by id; `damaged` is called with the keys of those that do not decode.
  Result<> all(const Visit& visit, const std::function<void(const std::string& key)>& damaged) const;
  // In a series, by start, then id: ascending, or descending from before `cursor` (without skipped captures). Only a
  // trace's series has skipped captures; rows of the other kind are not read.
  enum class Kind : uint8_t { kCapture, kSkipped };
  Result<> ascending(const std::string& series, Kind kind, const Visit& visit) const;
  Result<> descending(const std::string& series, const TimeRange& range, const std::optional<CaptureCursor>& cursor,
                      const Visit& visit) const;
  // Of every trace that has any, once each, ascending.
  Result<> traces(const std::function<Result<>(const TraceId&)>& visit) const;
  // Contents of a bucket of files, ascending; the same one comes once for every capture that has it.
  using VisitContent = std::function<void(const Sha256& hash, Result<uint64_t> size_bytes)>;
  Result<> contents(uint8_t bucket, const VisitContent& visit) const;
  // Removes index rows whose capture is not there: what damage to rows leaves behind.
  Result<> remove_dangling() const;

 private:
  template <typename Change>
  void for_each_row(const CaptureInfo& info, const Change& change) const;
  Result<bool> visit_row(const rocksdb::Iterator& row, const rocksdb::ReadOptions& options, const Visit& visit) const;
  Result<std::optional<CaptureInfo>> get(const CaptureId& id, const rocksdb::ReadOptions& options) const;

  Database& database_;
};

}  // namespace fathom::store
