#include "store/verify/capture_check.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <rocksdb/write_batch.h>

#include "base/text.h"
#include "base/time.h"
#include "store/captures/capture_table.h"
#include "store/verify/row_scan.h"

namespace fathom::store {

namespace {

constexpr const char* kCaptures = "captures";
constexpr const char* kContents = "capture contents";
constexpr size_t kPieceBytes = 1 << 20;

std::string capture_place(const CaptureInfo& info) {
  return "capture " + info.id.hex() + (info.trace_id.is_zero() ? "" : " of trace " + info.trace_id.hex());
}

Affected received_at(const CaptureInfo& info) {
  return {.received = TimeRange{info.received_unix_nano, end_of(info.received_unix_nano, 1)},
          .started = TimeRange{info.start_unix_nano, end_of(info.end_unix_nano, 1)}};
}

// Compares the rows that a capture must have with those that are stored.
class ExpectedRows : public rocksdb::WriteBatch::Handler {
 public:
  explicit ExpectedRows(Database& database) : database_(database) {}

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    if (family != database_.family(Family::kCaptureIndex)->GetID()) return rocksdb::Status::OK();
    ++rows;
    std::string stored;
    const rocksdb::Status status =
        database_.db().Get(rocksdb::ReadOptions(), database_.family(Family::kCaptureIndex), key, &stored);
    if (!status.ok() && fault.empty()) fault = "an index row is missing: " + status.ToString();
    if (status.ok() && value != stored && fault.empty()) fault = "an index row has another value";
    return rocksdb::Status::OK();
  }

  uint64_t rows = 0;
  std::string fault;

 private:
  Database& database_;
};

class CaptureCheck {
 public:
  CaptureCheck(Database& database, const std::string& path, Findings& findings)
      : database_(database),
        table_(database),
        files_(*rocksdb::Env::Default(), path, /*sync=*/false),
        findings_(findings) {}

  void run() {
    for_each_capture([this](const CaptureInfo& info) { check_rows(info); }, /*report=*/true);
    check_index();
    for (uint8_t bucket = 0; bucket < BlobFiles::kBuckets; ++bucket) check_bucket(bucket);
    if (!damaged_.empty() || missing_) report_contents();
  }

 private:
  void for_each_capture(const std::function<void(const CaptureInfo&)>& visit, bool report) {
    auto decode = [&](std::string_view key, std::string_view value) {
      Result<CaptureInfo> info = decode_capture(key, value);
      if (info) return visit(*info);
      complete_ = false;
      if (report) findings_.damaged({kCaptures, "capture " + capture_keys::id_of(key).hex(), info.error().message});
    };
    RowScan::run(database_, Family::kCapture, "", "", decode, [&](const RowGap& gap) {
      complete_ = false;
      if (report) findings_.damaged({kCaptures, "headers between two intact ones", gap.reason});
    });
  }

  void check_rows(const CaptureInfo& info) {
    findings_.checked(kCaptures);
    rocksdb::WriteBatch batch;
    table_.put(info, batch);
    ExpectedRows expected(database_);
    batch.Iterate(&expected).PermitUncheckedError();
    expected_rows_ += expected.rows;
    if (!expected.fault.empty()) {
      findings_.damaged({kCaptures, capture_place(info), expected.fault, received_at(info)});
    }
    if (is_skipped(info.id)) return;  // a skipped capture has no content
    Result<uint64_t> bytes = files_.size_bytes(info.sha256);
    missing_ |= !bytes.ok() || *bytes != info.size_bytes;
  }

  // All expected rows are there; so if there are as many rows, none of them finds a capture that is gone.
  void check_index() {
    uint64_t rows = 0;
    RowScan::run(
        database_, Family::kCaptureIndex, "", "", [&](std::string_view, std::string_view) { ++rows; },
        [&](const RowGap& gap) {
          complete_ = false;
          findings_.damaged({kCaptures, "index rows between two intact ones", gap.reason});
        });
    if (complete_ && rows > expected_rows_) {
      findings_.damaged({kCaptures, "index", plural(rows - expected_rows_, "row") + " without a stored capture"});
    }
  }

  void check_bucket(uint8_t bucket) {
    Result<std::set<Sha256>> contents = files_.contents(bucket);
    if (!contents) return findings_.damaged({kContents, "bucket " + std::to_string(bucket), contents.error().message});
    for (const Sha256& hash : *contents) {
      findings_.checked(kContents);
      Result<uint64_t> bytes = files_.size_bytes(hash);
      Result<> read = bytes ? read_content(files_, hash, *bytes) : Result<>(bytes.error());
      findings_.read_bytes(bytes ? *bytes : 0);
      if (!read) damaged_.emplace(hash, read.error().message);
    }
  }

  void report_contents() {
    for_each_capture([this](const CaptureInfo& info) { report_content(info); }, /*report=*/false);
  }

  void report_content(const CaptureInfo& info) {
    if (is_skipped(info.id)) return;
    std::string reason;
    Result<uint64_t> bytes = files_.size_bytes(info.sha256);
    if (!bytes) {
      reason = bytes.error().message;
    } else if (*bytes != info.size_bytes) {
      reason = "its content has " + plural(*bytes, "byte") + " instead of " + group_digits(info.size_bytes);
    } else if (const auto known = damaged_.find(info.sha256); known != damaged_.end()) {
      reason = known->second;
    }
    if (!reason.empty()) findings_.damaged({kContents, capture_place(info), reason, received_at(info)});
  }

  Database& database_;
  CaptureTable table_;
  BlobFiles files_;
  Findings& findings_;
  bool complete_ = true;  // all headers and index rows were read
  bool missing_ = false;  // a content is missing or has another size
  uint64_t expected_rows_ = 0;
  std::map<Sha256, std::string> damaged_;
};

}  // namespace

Result<> read_content(const BlobFiles& files, const Sha256& hash, uint64_t size_bytes, const VisitPiece& visit) {
  Sha256Hasher hasher;
  for (uint64_t offset = 0; offset < size_bytes;) {
    Result<std::string> piece = files.read(hash, offset, std::min<uint64_t>(kPieceBytes, size_bytes - offset));
    if (!piece) return piece.error();
    if (piece->empty()) return corrupt("its content is cut short");
    hasher.add(*piece);
    if (Result<> visited = visit ? visit(*piece) : Result<>(); !visited) return visited;
    offset += piece->size();
  }
  return hasher.finish() == hash ? Result<>() : Result<>(corrupt("its content has another SHA-256 than its name says"));
}

uint64_t content_bytes(const std::string& path) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path + "/captures", error)) {
    std::error_code fault;
    const uint64_t size = entry.is_regular_file(fault) ? entry.file_size(fault) : 0;
    if (!fault) bytes += size;
  }
  return bytes;
}

void check_captures(Database& database, const std::string& path, Findings& findings) {
  CaptureCheck(database, path, findings).run();
}

}  // namespace fathom::store
