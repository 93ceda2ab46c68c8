#include "store/rocks/identity_log.h"

#include "base/time.h"
#include "store/rocks/keys.h"

namespace fathom::store {

namespace {
uint32_t hour_of(uint64_t age_nano) {
  return static_cast<uint32_t>(age_nano / kNanosPerHour);
}
}  // namespace

Result<bool> IdentityLog::known(const Hash128& identity, uint64_t now_nano) const {
  uint32_t hour = hour_of(now_nano);
  for (uint32_t at : {hour, hour - (hour > 0)}) {
    std::string value;
    rocksdb::Status status = database_.db().Get(rocksdb::ReadOptions(), database_.family(Family::kIdentity),
                                                keys::identity(at, identity), &value);
    if (status.IsNotFound()) continue;
    if (!status.ok()) return from_status(status, "look up a batch's identity");
    ByteReader in(value);
    uint64_t stored = in.u64();
    if (now_nano <= end_of(stored, kNanosPerHour)) return true;
  }
  return false;
}

std::optional<uint64_t> identity_sequence(std::string_view row) {
  ByteReader in(row);
  in.u64();
  const uint64_t sequence = in.u64();
  return in.failed() ? std::nullopt : std::optional(sequence);
}

void IdentityLog::remember(const Hash128& identity, uint64_t sequence, uint64_t now_nano, rocksdb::WriteBatch& batch) {
  std::string value;
  ByteWriter out(value);
  out.u64(now_nano);
  out.u64(sequence);
  batch.Put(database_.family(Family::kIdentity), keys::identity(hour_of(now_nano), identity), value);
}

void IdentityLog::expire(uint64_t now_nano, rocksdb::WriteBatch& batch) {
  uint32_t hour = hour_of(now_nano);
  if (hour < 1 || hour - 1 <= expired_before_) return;
  expired_before_ = hour - 1;
  batch.DeleteRange(database_.family(Family::kIdentity), keys::identity_hour(0), keys::identity_hour(hour - 1));
}

}  // namespace fathom::store
