// BatchHandler: visits the entries of a serialized WriteBatch of any column family, and ignores them.
//
// Purpose: RocksDB's own default rejects every family but the first. Derive from it and override what you read.
// Thread safety: none needed.
#pragma once

#include <cstdint>

#include <rocksdb/write_batch.h>

namespace fathom::store {

class BatchHandler : public rocksdb::WriteBatch::Handler {
 public:
  using Status = rocksdb::Status;
  using Slice = rocksdb::Slice;

  Status PutCF(uint32_t, const Slice&, const Slice&) override { return Status::OK(); }
  Status DeleteCF(uint32_t, const Slice&) override { return Status::OK(); }
  Status SingleDeleteCF(uint32_t, const Slice&) override { return Status::OK(); }
  Status DeleteRangeCF(uint32_t, const Slice&, const Slice&) override { return Status::OK(); }
  Status MergeCF(uint32_t, const Slice&, const Slice&) override { return Status::OK(); }
  void LogData(const Slice&) override {}
};

}  // namespace fathom::store
