// The header of a capture, or of a skipped one, as the store takes it, from what the agent announced.
//
// Purpose: a capture's times are converted to the collector's clock here, if the agent knew its offset; the offset is
// kept beside them. Thread safety: pure functions. Errors: none; what is no capture (no such trigger, a window that
// ends before it starts) is the store's to refuse.
#pragma once

#include <string>

#include "ingest/stream.h"
#include "store/capture.h"

namespace fathom::collector {

store::CaptureInfo capture_info(ingest::CaptureBegin begin, const ingest::NodeId& node_id,
                                const std::string& node_name);
// The time stays the agent's own: it only says which came first.
store::SkippedCapture skipped_capture(ingest::SkippedCapture skipped, const ingest::NodeId& node_id,
                                      const std::string& node_name);

}  // namespace fathom::collector
