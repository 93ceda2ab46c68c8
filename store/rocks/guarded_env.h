// GuardedEnv: the environment of a database, with the file systems that protect its manifest and list its logs.
//
// Thread safety: as rocksdb::EnvWrapper. Ownership: `base` must outlive it. Errors: those of ManifestGuard and
// LogWitness.
#pragma once

#include <memory>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

namespace fathom::store {

class GuardedEnv : public rocksdb::EnvWrapper {
 public:
  explicit GuardedEnv(rocksdb::Env& base);

 private:
  GuardedEnv(rocksdb::Env& base, const std::shared_ptr<rocksdb::FileSystem>& guards);
};

}  // namespace fathom::store
