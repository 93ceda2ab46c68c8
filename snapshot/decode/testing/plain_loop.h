// What everybody writes first: one thread, libipt's block decoder over a whole stream, counting instructions. The
// measure that a decoder is held against.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

struct PlainDecode {
  uint64_t instructions = 0;
  uint64_t errors = 0;
};

// Bytes of a file that lie at an address.
struct PlainCode {
  std::string path;
  uint64_t file_offset = 0;
  uint64_t bytes = 0;
  uint64_t address = 0;
};
// Time is asked for at each block.
PlainDecode decode_plainly(const std::string& stream, std::span<const PlainCode> codes, const Timing& timing);

}  // namespace fathom::snapshot
