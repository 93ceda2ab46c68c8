// GuardedEnv: the environment of a database, with the file systems that protect its manifest, list its logs, check
// its sorted files and hide failed writes of its info log.
//
// Thread safety: as rocksdb::EnvWrapper. Ownership: `base` must outlive it. Errors: those of ManifestGuard, LogWitness,
// SortedFileGuard and InfoLogGuard.
#pragma once

#include <memory>

#include <rocksdb/env.h>
#include "store/rocks/log_witness.h"

namespace fathom::store {

class GuardedEnv : public rocksdb::EnvWrapper {
 public:
  // `fills_logs`: see LogWitness.
  GuardedEnv(rocksdb::Env& base, bool fills_logs);
  LogWitness& log_witness() { return *log_witness_; }

 private:
  GuardedEnv(rocksdb::Env& base, const std::shared_ptr<LogWitness>& guards);

  const std::shared_ptr<LogWitness> log_witness_;
};

}  // namespace fathom::store
