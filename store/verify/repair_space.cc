// repair_space(): the space that a repair needs.
#include <sys/statvfs.h>

#include <filesystem>
#include <string_view>

#include "store/rocks/database.h"
#include "store/verify/capture_check.h"
#include "store/verify/repair.h"

namespace fathom::store {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kFixedBytes = 64 << 20;  // the new store's first files, and its logs

uint64_t bytes_of(const std::string& directory, std::string_view suffix) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    std::error_code fault;
    const uint64_t size = entry.path().extension() == suffix ? entry.file_size(fault) : 0;
    if (!fault) bytes += size;
  }
  return bytes;
}

}  // namespace

Result<RepairSpace> repair_space(const RepairRequest& request) {
  const std::string store = log_places(request.from).store;
  // The rows of logs are copied, and, where the manifest is damaged, written to sorted files once more.
  // RocksDB compacts the indexes of the new store, which are the smaller part of it, and has them twice meanwhile.
  const uint64_t tables = bytes_of(store, ".sst");
  const uint64_t needed = tables + tables / 2 + 3 * bytes_of(store, ".log") + content_bytes(request.from) +
                          request.more_bytes + kFixedBytes;
  const fs::path parent = fs::absolute(request.to).parent_path();
  struct statvfs disk {};
  if (::statvfs(parent.c_str(), &disk) != 0) return invalid("cannot inspect " + parent.string() + "; does it exist?");
  return RepairSpace{needed, uint64_t{disk.f_bavail} * disk.f_frsize};
}

}  // namespace fathom::store
