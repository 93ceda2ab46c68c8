// A made stream as a snapshot in a directory, with its code.
//
// Thread safety: a plain value. Errors: those of SnapshotDirectory.
#pragma once

#include <string>

#include "base/result.h"
#include "bench/snapshot/streams.h"
#include "snapshot/format/directory.h"

namespace fathom::bench {

struct WrittenStream {
  snapshot::SnapshotId id;
  std::string code_path;
};
// `repeats`: the packets so often, one behind the other, for what must be long.
Result<WrittenStream> write_stream(const snapshot::SnapshotDirectory& directory, const MadeStream& stream,
                                   int repeats = 1);

}  // namespace fathom::bench
