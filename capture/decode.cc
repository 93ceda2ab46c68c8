#include "capture/decode.h"

#include "capture/body_decoder.h"
#include "capture/frame.h"

namespace fathom::capture {

Result<Capture> decode(std::string_view bytes, const DecodeLimits& limits, uint64_t* memory_bytes) {
  Result<Body> body = open_frame(bytes, limits.most_bytes);
  if (!body) return body.error();
  return decode_body(body->view(), limits, memory_bytes);
}

}  // namespace fathom::capture
