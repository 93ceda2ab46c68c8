#include "store/rocks/guarded_env.h"

#include "store/rocks/info_log_guard.h"
#include "store/rocks/manifest_guard.h"
#include "store/rocks/sorted_file_guard.h"

namespace fathom::store {

namespace {

std::shared_ptr<LogWitness> guard(const std::shared_ptr<rocksdb::FileSystem>& disk, bool fills_logs) {
  const auto info_log = std::make_shared<InfoLogGuard>(disk);
  const auto manifest = std::make_shared<ManifestGuard>(std::make_shared<SortedFileGuard>(info_log));
  return std::make_shared<LogWitness>(manifest, fills_logs);
}

}  // namespace

GuardedEnv::GuardedEnv(rocksdb::Env& base, bool fills_logs)
    : GuardedEnv(base, guard(base.GetFileSystem(), fills_logs)) {}

GuardedEnv::GuardedEnv(rocksdb::Env& base, const std::shared_ptr<LogWitness>& guards)
    : EnvWrapper(rocksdb::NewCompositeEnv(guards)), log_witness_(guards) {
  file_system_ = guards;
  system_clock_ = base.GetSystemClock();
}

}  // namespace fathom::store
