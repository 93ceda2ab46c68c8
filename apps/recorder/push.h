// Brings what was recorded of a request to the server that knows the request.
//
// Thread safety: none; one recording. Units: none. Errors: what is wrong is said on the context's standard error, with
// the command that does it later; the snapshot stays where it was written.
#pragma once

#include <optional>

#include "apps/recorder/options.h"
#include "base/ids.h"
#include "cli/context.h"
#include "snapshot/format/snapshot.h"

namespace fathom {

// Whether the server has it now; nothing where it is of no request.
std::optional<bool> push_to_server(const RecorderOptions& options, const snapshot::SnapshotId& id,
                                   const TraceId& trace_id, const cli::Context& context);

}  // namespace fathom
