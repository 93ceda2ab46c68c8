#include "store/rocks/disk_space.h"

#include <sys/statvfs.h>

#include <algorithm>

namespace fathom::store {

std::optional<DiskSpace> measure_disk(Engine& engine) {
  struct statvfs disk {};
  DiskSpace space;
  const std::string& path = engine.options.path;
  rocksdb::Env* env = engine.database->db().GetEnv();
  if (statvfs(path.c_str(), &disk) != 0 || !env->GetFreeSpace(path, &space.free_bytes).ok()) return std::nullopt;
  // A small disk reserves a part of itself.
  space.reserve_bytes =
      std::min<uint64_t>(engine.options.reserve_disk_bytes, uint64_t{disk.f_blocks} * disk.f_frsize / 8);
  return space;
}

}  // namespace fathom::store
