// What everybody writes first: one thread, libipt's block decoder over a whole stream, counting instructions. The
// measure that a decoder is held against.
#pragma once

#include <cstdint>
#include <string>

#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

struct PlainDecode {
  uint64_t instructions = 0;
  uint64_t errors = 0;
};

// `code` is a file whose bytes lie at `address`. With `timing`, time is asked for at each block.
PlainDecode decode_plainly(const std::string& stream, const std::string& code_path, uint64_t address, uint64_t bytes,
                           const Timing& timing);

}  // namespace fathom::snapshot
