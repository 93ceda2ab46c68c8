#include "store/rocks/disk_space.h"

#include <sys/statvfs.h>

#include <algorithm>

#include "base/log.h"
#include "base/metrics.h"
#include "store/disk_reserve.h"
#include "store/rocks/database_options.h"
#include "store/wal/log_files.h"

namespace fathom::store {

namespace {

constexpr uint64_t kMebibyte = 1 << 20;

// Some file systems make inodes as they are needed, and say that they have none.
void measure_files(const struct statvfs& disk, DiskSpace& space) {
  constexpr uint64_t kReservedFiles = 256;
  if (disk.f_files == 0) return;
  space.free_files = disk.f_favail;
  space.reserve_files = std::min<uint64_t>(kReservedFiles, disk.f_files / 8);
}

std::string reason(const DiskSpace& space) {
  if (space.free_files < space.reserve_files) {
    return std::to_string(space.free_files) + " free inodes; the server keeps " + std::to_string(space.reserve_files);
  }
  return std::to_string(space.free_bytes / kMebibyte) + " MiB free, of which --reserve-disk keeps " +
         std::to_string(space.reserve_bytes / kMebibyte);
}

}  // namespace

bool set_writable(Engine& engine, bool writable) {
  gauge("fathom_store_writable", "1 while the store takes writes").set(writable);
  return engine.writable.exchange(writable);
}

void refuse_writes(Engine& engine, const DiskSpace& space) {
  if (!set_writable(engine, false)) return;
  log_warning("the disk of " + engine.options.path + " is nearly full (" + reason(space) +
              "): writes are refused until there is room; make some, or keep less: --retention-size, --retention-age");
}

std::optional<DiskSpace> measure_disk(Engine& engine) {
  return measure_disk(*engine.database->db().GetEnv(), engine.options.path, engine.options.reserve_disk_bytes);
}

std::optional<DiskSpace> measure_disk(rocksdb::Env& env, const std::string& path, uint64_t reserve_bytes) {
  struct statvfs disk {};
  DiskSpace space;
  if (statvfs(path.c_str(), &disk) != 0 || !env.GetFreeSpace(path, &space.free_bytes).ok()) return std::nullopt;
  measure_files(disk, space);
  space.reserve_bytes = disk_reserve_bytes(reserve_bytes, uint64_t{disk.f_blocks} * disk.f_frsize);
  return space;
}

std::string free_space_text(const std::string& path) {
  struct statvfs disk {};
  if (statvfs(path.c_str(), &disk) != 0) return "";
  const std::string bytes = std::to_string(uint64_t{disk.f_bavail} * disk.f_frsize / kMebibyte) + " MiB";
  const std::string files = disk.f_files == 0 ? "" : " and " + std::to_string(disk.f_favail) + " inodes";
  return bytes + files + " are free";
}

uint64_t log_limit(rocksdb::Env& env, const RocksOptions& options) {
  const std::optional<DiskSpace> space = measure_disk(env, options.path, options.reserve_disk_bytes);
  if (space && !space->has_room_for(bytes_of_logs(env, options.path + "/store"))) return kUnlimitedLogBytes;
  return most_log_bytes(options.retention_bytes, space ? space->reserve_bytes : 0);
}

}  // namespace fathom::store
