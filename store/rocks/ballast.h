// Ballast: a file that takes up a little of the disk, to be thrown off when a full one would keep the store from
// opening.
//
// Purpose: opening writes a few small files; on a disk that others filled to the last byte there would be no queries
// either until somebody makes room. Thread safety: one thread at a time. Ownership: none; it is a file beside the data.
// Errors: none worth telling; without ballast a full disk is what it was.
#pragma once

#include <cstdint>
#include <string>

namespace fathom::store {

class Ballast {
 public:
  explicit Ballast(const std::string& directory) : path_(directory + "/ballast") {}
  // Where there is room for it many times over; does nothing when it is there.
  void take_on() const;
  // When the disk has no room for opening. Before it is tried: RocksDB may end the process where a file cannot be
  // written.
  void throw_off_if_full() const;

 private:
  uint64_t free_bytes() const;  // none when the file system does not say

  const std::string path_;
};

}  // namespace fathom::store
