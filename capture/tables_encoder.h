// The tables of a capture's body: all of it but the blocks of its threads' events (docs/formats/capture.md).
//
// Thread safety: a pure function but for the sink. Errors: none; anchors and kernel events out of order, and threads
// that are not by tid, are faults of the caller's, and asserted.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "capture/body_sink.h"
#include "capture/capture.h"
#include "capture/event_columns.h"

namespace fathom::capture {

using TotalsByThread = std::unordered_map<uint32_t, ThreadTotals>;  // by tid

// `totals`: what the blocks have; the events of `capture` itself are not looked at.
void encode_tables(const Capture& capture, const TotalsByThread& totals, BodySink& sink);

}  // namespace fathom::capture
