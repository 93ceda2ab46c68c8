// The body of a capture's bytes: what is compressed and what the checksum is of (docs/formats/capture.md).
//
// Thread safety: a pure function. Ownership: the result owns its memory. Errors: none; indexes that lead nowhere, and
// events out of order, are faults of the caller's, and asserted.
#pragma once

#include "capture/body_writer.h"
#include "capture/capture.h"

namespace fathom::capture {

BodyWriter encode_body(const Capture& capture);

}  // namespace fathom::capture
