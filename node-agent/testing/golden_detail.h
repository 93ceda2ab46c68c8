// A detail pool as the real client wrote it, from testdata/.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/fd.h"
#include "client/pool/detail_layout.h"

namespace fathom::agent::testing {

// The file has the pages that are not empty.
inline Fd golden_detail(const std::string& path_without_end) {
  std::ifstream in(path_without_end + ".bin", std::ios::binary);
  Fd memory(::memfd_create("golden", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  uint64_t bytes = 0, at = 0;
  std::string page(pool::kPageBytes, '\0');
  in.read(reinterpret_cast<char*>(&bytes), sizeof bytes);
  EXPECT_EQ(::ftruncate(memory.get(), static_cast<off_t>(bytes)), 0);
  while (in.read(reinterpret_cast<char*>(&at), sizeof at) && in.read(page.data(), pool::kPageBytes)) {
    EXPECT_EQ(::pwrite(memory.get(), page.data(), page.size(), static_cast<off_t>(at)), pool::kPageBytes);
  }
  EXPECT_EQ(::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  return memory;
}

}  // namespace fathom::agent::testing
