// encode_capture(): the usual CaptureWorker::Encode: make_capture() of all that a job has.
//
// Thread safety: a pure function but for looks at /proc. Errors: make_capture()'s.
#pragma once

#include "base/result.h"
#include "node-agent/capture/capture_maker.h"
#include "node-agent/triggers/capture_job.h"

namespace fathom::agent {

Result<MadeCapture> encode_capture(const CaptureMaterial& material);

}  // namespace fathom::agent
