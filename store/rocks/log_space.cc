#include "store/rocks/log_space.h"

namespace fathom::store {

bool has_room_to_allocate(rocksdb::FileSystem& disk, const std::string& directory, uint64_t bytes) {
  constexpr uint64_t kPart = 8;
  uint64_t free = 0;
  const bool is_known = disk.GetFreeSpace(directory, rocksdb::IOOptions(), &free, nullptr).ok();
  return !is_known || bytes <= free / kPart;
}

}  // namespace fathom::store
