// gunzip() on any bytes: an error or at most the limit, never more memory than was asked for; and what gzip() made
// comes back as it was.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "net/gzip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom::net;
  constexpr uint64_t kLimit = 1 << 20;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  uint64_t asked = 0;
  auto out = gunzip(input, kLimit, [&asked](uint64_t bytes) {
    asked += bytes;
    return true;
  });
  if (out.ok() && (out->size() > kLimit || out->size() > asked)) std::abort();
  if (asked > kLimit + 1) std::abort();
  auto back = gunzip(gzip(input, 1), size, nullptr);
  if (!back.ok() || *back != input) std::abort();
  return 0;
}
