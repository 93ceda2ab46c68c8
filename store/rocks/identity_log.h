// IdentityLog: which batches were stored within the last hour, so that one that is sent again is not stored again.
//
// Purpose: an exporter whose acknowledgement was lost sends the same request again. Identities are written in the same
// atomic write as the rows. The hour is one of the age time (store/clock/age_time.h), so that no step of the wall clock
// hides an identity or makes it expire. Thread safety: one thread (the committer). Errors: a failed look-up is
// reported, because guessing would double or lose spans.
#pragma once

#include <optional>
#include <string_view>

#include <rocksdb/write_batch.h>

#include "base/hash.h"
#include "base/result.h"
#include "store/rocks/database.h"

namespace fathom::store {

// The sequence of the batch that an identity's row belongs to; nothing in rows of older servers.
std::optional<uint64_t> identity_sequence(std::string_view row);

class IdentityLog {
 public:
  explicit IdentityLog(Database& database) : database_(database) {}

  Result<bool> known(const Hash128& identity, uint64_t now_nano) const;
  // `sequence`: of the batch in the stage.
  void remember(const Hash128& identity, uint64_t sequence, uint64_t now_nano, rocksdb::WriteBatch& batch);
  // Forgets hours that no look-up will ask for again.
  void expire(uint64_t now_nano, rocksdb::WriteBatch& batch);

 private:
  Database& database_;
  uint32_t expired_before_ = 0;
};

}  // namespace fathom::store
