// Any bytes as a jitdump: refused, or code that lies inside the file and inside the address space.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "snapshot/record/pt/jitdump.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom::snapshot;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto dump = parse_jitdump(bytes);
  if (!dump) return 0;
  for (const JitCode& code : dump->code) {
    if (code.bytes > UINT64_MAX - code.address || code.code.size() > size) std::abort();
    if (!code.code.empty() && (code.code.data() < bytes.data() || code.code.size() != code.bytes)) std::abort();
  }
  return 0;
}
