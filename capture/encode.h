// Encoding of captures: from plain values to the bytes that agents send and servers keep (docs/formats/capture.md).
//
// Thread safety: a pure function. Ownership: the result owns its bytes. Errors: none; a capture whose indexes lead
// nowhere or whose events are not by time is a fault of the caller's, and asserted. Texts beyond kMostTextBytes
// (format.h), which readers refuse, are cut; values of events are not. The same capture always gives the same bytes
// with the same version of zstd.
#pragma once

#include <string>

#include "capture/capture.h"

namespace fathom::capture {

std::string encode(const Capture& capture);

}  // namespace fathom::capture
