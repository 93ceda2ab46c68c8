// Ballast: a file that takes up a little of the disk. It is deleted when a full disk has no room for small writes.
//
// Purpose: opening the store writes a few small files, and retention writes a little before it deletes much. On a disk
// that other programs filled to the last byte, the ballast's bytes make this possible. It is created again when there
// is room. Thread safety: all of it. Ownership: none; it is a file beside the data. Errors: none; without ballast a
// full disk is as before.
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
  // While the store is open: when fewer than `bytes` are free.
  void throw_off_for(uint64_t bytes) const;

 private:
  uint64_t free_bytes() const;  // none when the file system does not say

  const std::string path_;
};

}  // namespace fathom::store
