// What the damage to RocksDB's logs destroyed, derived from the damaged logs.
//
// Purpose: repair_logs() (log_repair.h) moved the damaged logs aside and marked missing ones. The batches around a
// damaged part bound the loss. A batch that is in the log twice bounds no loss: the wrong one may have been kept.
// Thread safety: none needed. Errors: failed reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/env.h>

#include "base/result.h"
#include "store/wal/log_files.h"
#include "store/wal/log_scan.h"

namespace fathom::store {

// A batch of the stage family, as found in a log.
struct StagedBatch {
  uint64_t sequence = 0;
  uint64_t received_unix_nano = 0;
};

struct LogLoss {
  LogRange range;
  // The nearest intact batches of the same log; nothing where there is none.
  std::optional<StagedBatch> before;
  std::optional<StagedBatch> after;
};

struct LogEnd {
  bool may_be_incomplete = false;  // then an incomplete last record is no loss
  uint64_t missing_bytes = 0;      // behind the end of the file: they were synced
};

// The losses in one log, ordered by offset. `range`: the sequence numbers of its own records. `stage_family`: RocksDB's
// id of the stage family.
Result<std::vector<LogLoss>> losses_of(rocksdb::Env& env, const std::string& path, const SequenceRange& range,
                                       uint32_t stage_family, const LogEnd& end);

// The same for a log that was set aside, or the loss of a whole log for a mark. `name`: in places.damaged.
Result<std::vector<LogLoss>> losses_set_aside(rocksdb::Env& env, const LogPlaces& places, const std::string& name,
                                              uint32_t stage_family);

// The first intact batch of the logs after this one. The stage does not tell: it also has batches of earlier logs.
Result<std::optional<StagedBatch>> first_batch_after(rocksdb::Env& env, const LogPlaces& places, const std::string& log,
                                                     uint32_t stage_family);

}  // namespace fathom::store
