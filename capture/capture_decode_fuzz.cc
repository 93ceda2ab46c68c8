// Decoding of captures, on arbitrary bytes: no crash, no hang, no memory beyond the limits; what is decoded can be
// walked, and encodes to what decodes to the same.
//
// Input: 0 and the bytes of a capture, or anything else and the body of one, which mutations reach behind the checksum.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "capture/body_decoder.h"
#include "capture/body_encoder.h"
#include "capture/decode.h"

using namespace fathom;
using namespace fathom::capture;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  const DecodeLimits limits{.most_bytes = 16 << 20, .most_memory_bytes = 64 << 20};
  bool framed = input[0] == 0;
  input.remove_prefix(1);
  Result<Capture> capture = framed ? decode(input, limits) : decode_body(input, limits);
  if (!capture.ok()) return 0;
  (void)crosses_clock_jump(*capture);
  (void)unix_nano_at(*capture, capture->begin_nano);
  Result<Capture> again = decode_body(encode_body(*capture), {});
  if (!again.ok() || !same(*again, *capture)) std::abort();
  return 0;
}
