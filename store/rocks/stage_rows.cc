#include "store/rocks/stage_rows.h"

#include "base/log.h"
#include "store/rocks/keys.h"

namespace fathom::store {

namespace {

// Small writes, each of which a full disk has room for.
constexpr size_t kBatchBytes = 64 << 10;

Result<> write_deletions(Database& database, rocksdb::WriteBatch& batch) {
  if (batch.Count() == 0) return {};
  if (Result<> room = database.make_small_room(); !room) return room;
  const rocksdb::Status status = database.db().Write(rocksdb::WriteOptions(), &batch);
  batch.Clear();
  return status.ok() ? Result<>() : Result<>(from_status(status, "delete rows of the stage"));
}

}  // namespace

void delete_stage_rows(Database& database, const Generation& generation) {
  rocksdb::WriteBatch batch;
  Result<> written;
  for (const Generation::Source& source : generation.sources()) {
    batch.SingleDelete(database.family(Family::kStage), keys::stage(source.sequence));
    if (batch.GetDataSize() >= kBatchBytes) written = write_deletions(database, batch);
    if (!written) break;
  }
  if (written) written = write_deletions(database, batch);
  if (!written) log_warning("cannot clear rows from the stage yet: " + written.error().message);
}

}  // namespace fathom::store
