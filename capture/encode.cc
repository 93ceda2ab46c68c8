#include "capture/encode.h"

#include "capture/body_encoder.h"
#include "capture/frame.h"

namespace fathom::capture {

std::string encode(const Capture& capture) {
  return seal_frame(encode_body(capture).view());
}

}  // namespace fathom::capture
