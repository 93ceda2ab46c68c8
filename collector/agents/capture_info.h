// Converts the header of a capture, or of a skipped one, from the agent's message to the store's type.
//
// Purpose: a capture's times are converted to the collector's clock here, if the agent knew its offset; the offset is
// stored with them. Thread safety: pure functions. Errors: none; the store rejects invalid headers (an unknown trigger,
// a window that ends before it starts).
#pragma once

#include <string>

#include "ingest/stream.h"
#include "store/capture.h"

namespace fathom::collector {

store::CaptureInfo capture_info(ingest::CaptureBegin begin, const ingest::NodeId& node_id,
                                const std::string& node_name);
// Does not convert the time: it only gives the order of one agent's reports.
store::SkippedCapture skipped_capture(ingest::SkippedCapture skipped, const ingest::NodeId& node_id,
                                      const std::string& node_name);

}  // namespace fathom::collector
