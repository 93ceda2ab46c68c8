// How much of its disk the server keeps free.
//
// Purpose: sealing and compaction need space after writes are rejected. On a small disk, --reserve-disk would leave no
// space to store anything, so the reserve is a part of that disk: an eighth, or up to a quarter if that is no more
// than a flush and a compaction need at the same time. Thread safety: a plain function. Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fathom::store {

// `most_bytes`: --reserve-disk. `disk_bytes`: the size of the disk.
constexpr uint64_t disk_reserve_bytes(uint64_t most_bytes, uint64_t disk_bytes) {
  constexpr uint64_t kFlushAndCompactionBytes = 16 << 20;
  return std::min(most_bytes, std::max(disk_bytes / 8, std::min(disk_bytes / 4, kFlushAndCompactionBytes)));
}

}  // namespace fathom::store
