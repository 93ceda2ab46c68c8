// Encoding of captures: the bytes that agents send and servers keep (docs/formats/capture.md).
//
// Purpose: an agent has hundreds of thousands of events at hand, one after the other, while somebody waits for the
// capture: each is written once, and compressed with its neighbours. Thread safety: none of CaptureEncoder; encode() is
// a pure function. Ownership: of their results. Errors: kExhausted where there is no memory to compress with, which
// encode() does not hand on; a capture whose indexes lead nowhere is a fault of the caller's, and asserted. Texts
// beyond kMostTextBytes (format.h), which readers refuse, are cut; values of events are not. The same capture always
// gives the same bytes with the same version of zstd.
#pragma once

#include <string>

#include "base/result.h"
#include "capture/body_encoder.h"
#include "capture/capture.h"
#include "capture/frame.h"

namespace fathom::capture {

class CaptureEncoder {
 public:
  // `likely_bytes` of the result: a guess, which costs nothing while it is not used.
  explicit CaptureEncoder(size_t likely_bytes = 0) : frame_(likely_bytes), body_(frame_) {}

  // Events, first of all.
  BodyEncoder& body() { return body_; }
  // And the rest, once; the events of `capture` itself are not looked at.
  Result<std::string> finish(const Capture& capture) {
    body_.finish(capture);
    return frame_.finish();
  }

 private:
  FrameWriter frame_;
  BodyEncoder body_;
};

// For tests: of a capture whose events are gathered already.
std::string encode(const Capture& capture);

}  // namespace fathom::capture
