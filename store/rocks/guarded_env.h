// GuardedEnv: the environment of a database, with the file systems that protect its manifest, list its logs and check
// its sorted files.
//
// Thread safety: as rocksdb::EnvWrapper. Ownership: `base` must outlive it. Errors: those of ManifestGuard, LogWitness
// and SortedFileGuard.
#pragma once

#include <memory>

#include <rocksdb/env.h>
#include "store/rocks/log_witness.h"

namespace fathom::store {

class GuardedEnv : public rocksdb::EnvWrapper {
 public:
  explicit GuardedEnv(rocksdb::Env& base);
  LogWitness& log_witness() { return *log_witness_; }

 private:
  GuardedEnv(rocksdb::Env& base, const std::shared_ptr<LogWitness>& guards);

  const std::shared_ptr<LogWitness> log_witness_;
};

}  // namespace fathom::store
