// Any bytes as a snapshot's description: read or refused, and what is read is written again as it was read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "snapshot/format/snapshot_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom::snapshot;
  auto decoded = decode_metadata({reinterpret_cast<const char*>(data), size}, 1 << 20);
  if (!decoded) return 0;
  auto again = decode_metadata(encode_metadata(*decoded), 1 << 20);
  // Not-a-number is unequal to itself.
  if (!again || (decoded->slowdown == decoded->slowdown && !(*again == *decoded))) std::abort();
  return 0;
}
