// UpgradeKeeper: commits an upgrade after a day of running, or gives its backup up when the disk becomes full.
//
// Purpose: the backup keeps deleted files on the disk. It is given up before captures, snapshots or writes are refused,
// because those need the room. The day is one of running (CLOCK_MONOTONIC, added up over restarts), so that steps of
// the clock do not matter. A damaged backup is logged and committed in the same way; its earlier running time is not
// known. Thread safety: one thread. Errors: logged; the next look tries again.
#pragma once

#include <cstdint>
#include <string>

#include "store/rocks/disk_space.h"

namespace fathom::store {

class UpgradeKeeper {
 public:
  UpgradeKeeper(std::string path, uint64_t commit_after_nano);

  void look(const DiskSpace& space, uint64_t now_monotonic_nano);

 private:
  void commit(const std::string& why);
  void note(uint64_t now_monotonic_nano);

  const std::string path_;
  const uint64_t commit_after_nano_;
  bool is_pending_ = false;
  uint64_t ran_nano_ = 0;  // as the backup has it
  uint64_t noted_nano_ = 0;
};

// Whether the disk has room for a backup beside the data: more than its keeper gives it up at.
bool has_room_for_backup(const DiskSpace& space);

}  // namespace fathom::store
