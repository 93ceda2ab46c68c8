#include "capture/encode.h"

namespace fathom::capture {

std::string encode(const Capture& capture) {
  CaptureEncoder encoder;
  encode_events(capture, encoder.body());
  return *encoder.finish(capture);
}

}  // namespace fathom::capture
