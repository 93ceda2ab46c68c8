// encode_capture(): the usual CaptureWorker::Encode: all that a job has, into a capture's bytes.
//
// Thread safety: reads the job, and has its slices written, which may be done once; looks at /proc. Errors:
// CaptureBuilder's.
#pragma once

#include <memory>

#include "base/result.h"
#include "node-agent/capture/capture_builder.h"
#include "node-agent/triggers/capture_job.h"

namespace fathom::agent {

Result<MadeCapture> encode_capture(const CaptureJob& job, const TickTimes& times);
// The same with redaction rules; null: none.
Result<MadeCapture> encode_redacted_capture(const CaptureJob& job, const TickTimes& times,
                                            std::shared_ptr<const Redaction> rules);

}  // namespace fathom::agent
