// copy_captures(): captures whose headers and contents are intact.
#include <rocksdb/write_batch.h>

#include "store/captures/capture_table.h"
#include "store/verify/capture_check.h"
#include "store/verify/repair_copy.h"

namespace fathom::store {

namespace {

class CaptureCopy {
 public:
  explicit CaptureCopy(const RepairCopy& repair) : repair_(repair) {}

  Result<> run() {
    if (!repair_.source.database().has(Family::kCapture)) return {};
    const BlobFiles from(*rocksdb::Env::Default(), repair_.source.path(), /*sync=*/false);
    BlobFiles to(*rocksdb::Env::Default(), repair_.target.path(), /*sync=*/true);
    auto copy = [&](std::string_view key, std::string_view value) -> Result<> {
      Result<CaptureInfo> info = decode_capture(key, value);
      if (info && repair_.keeps_capture && !repair_.keeps_capture(*info)) return {};
      if (info) return copy_capture(from, to, *info);
      repair_.findings.damaged({"captures", "capture " + capture_keys::id_of(key).hex(), info.error().message});
      return {};
    };
    return copy_rows(repair_, Family::kCapture, "", "", copy, [&](const RowGap& gap) {
      repair_.findings.damaged({"captures", "headers between two intact ones", gap.reason});
    });
  }

 private:
  Result<> copy_capture(const BlobFiles& from, BlobFiles& to, const CaptureInfo& info) {
    // A skipped capture has no content.
    Result<bool> copied = is_skipped(info.id) ? Result<bool>(true) : copy_content(from, to, info);
    if (!copied) return copied.error();
    if (!*copied) return {};
    repair_.findings.checked("captures");
    repair_.findings.read_bytes(info.size_bytes);
    rocksdb::WriteBatch batch;
    Database& database = *repair_.target.engine().database;
    CaptureTable(database).put(info, batch);
    const rocksdb::Status status = database.db().Write(rocksdb::WriteOptions(), &batch);
    return status.ok() ? Result<>() : Result<>(from_status(status, "write the header of a capture"));
  }

  // False: the content is damaged, which is reported.
  Result<bool> copy_content(const BlobFiles& from, BlobFiles& to, const CaptureInfo& info) {
    Result<std::unique_ptr<BlobWriter>> content = to.begin();
    if (!content) return content.error();
    Result<> written;
    auto write = [&](std::string_view piece) -> Result<> {
      written = (*content)->append(piece);
      return written;
    };
    Result<> read = read_content(from, info.sha256, info.size_bytes, write);
    if (!written) return written.error();
    if (!read) {
      repair_.findings.damaged({"captures",
                                "capture " + info.id.hex(),
                                read.error().message,
                                {.received = TimeRange{info.received_unix_nano, end_of(info.received_unix_nano, 1)},
                                 .started = std::nullopt}});
      return false;
    }
    if (Result<Sha256> closed = (*content)->close(/*sync=*/true); !closed) return closed.error();
    if (Result<> placed = to.place(**content, info.sha256); !placed) return placed.error();
    return true;
  }

  const RepairCopy& repair_;
};

}  // namespace

Result<> copy_captures(const RepairCopy& repair) {
  return CaptureCopy(repair).run();
}

}  // namespace fathom::store
