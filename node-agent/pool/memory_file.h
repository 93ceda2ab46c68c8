// MemoryFile: shared memory that a program handed over, checked to be such, and read without trusting it.
//
// Purpose: what span pools and detail pools have in common. The begin of the file is mapped, everything else is copied
// by pread(): memory that the program changes, or has no pages for, cannot fault us or change under a check. Thread
// safety: read() from anywhere; otherwise none. Ownership: of the descriptor and the mapping. Errors: kInvalid for what
// is not a memory file of the kernel's own kind, sealed against shrinking and open for both ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::agent {

class MemoryFile {
 public:
  // `offered_bytes`: the size that the program says; 0: it says none.
  static Result<MemoryFile> open(Fd descriptor, uint64_t offered_bytes);
  MemoryFile(MemoryFile&& other) noexcept
      : descriptor_(std::move(other.descriptor_)),
        bytes_(other.bytes_),
        device_(other.device_),
        inode_(other.inode_),
        mapping_(std::exchange(other.mapping_, nullptr)),
        mapped_bytes_(other.mapped_bytes_) {}
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile();

  uint64_t bytes() const { return bytes_; }
  // Together: which memory this is, however often its descriptor is handed over.
  uint64_t device() const { return device_; }
  uint64_t inode() const { return inode_; }
  int descriptor() const { return descriptor_.get(); }
  uint64_t memory_bytes() const;  // what it takes of this host, as the kernel says

  // How many bytes there were: the file cannot shrink, so anything but all of what lies in it is a system's fault.
  size_t read(uint64_t offset, char* into, size_t bytes) const;
  // Once: the first `bytes` of the file, to read and to write.
  Result<> map(size_t bytes);
  char* mapping() const { return mapping_; }

 private:
  MemoryFile(Fd descriptor, uint64_t bytes, uint64_t device, uint64_t inode)
      : descriptor_(std::move(descriptor)), bytes_(bytes), device_(device), inode_(inode) {}

  Fd descriptor_;
  uint64_t bytes_;
  uint64_t device_;
  uint64_t inode_;
  char* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
};

}  // namespace fathom::agent
