// What both sides of the agents' stream count on before any message says it (docs/formats/ingest-stream.md).
//
// Thread safety: constants.
#pragma once

#include <cstdint>

namespace fathom::ingest {

// Of a batch's `otlp`: an agent makes none that is larger before a Welcome told it a limit, and a collector takes all
// up to here. A smaller limit would come too late for batches that are made, or spooled, by then.
inline constexpr uint64_t kBatchBytesBeforeWelcome = 1536 << 10;

}  // namespace fathom::ingest
