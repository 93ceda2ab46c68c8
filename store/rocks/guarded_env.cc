#include "store/rocks/guarded_env.h"

#include "store/rocks/log_witness.h"
#include "store/rocks/manifest_guard.h"

namespace fathom::store {

GuardedEnv::GuardedEnv(rocksdb::Env& base)
    : GuardedEnv(base, std::make_shared<LogWitness>(std::make_shared<ManifestGuard>(base.GetFileSystem()))) {}

GuardedEnv::GuardedEnv(rocksdb::Env& base, const std::shared_ptr<rocksdb::FileSystem>& guards)
    : EnvWrapper(rocksdb::NewCompositeEnv(guards)) {
  file_system_ = guards;
  system_clock_ = base.GetSystemClock();
}

}  // namespace fathom::store
