// ImageFinder: the code that was recorded, among the files of this machine.
//
// Purpose: an image is taken only where it is proven to be what ran: by its build-id; without one, because the
// recording was made on this very host, or because the person said where to look. Otherwise it stays missing, with a
// reason that says what would cure it. Thread safety: none. Errors: only for files that the person named, and for
// writing; whatever else is not there is `missing`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/format/directory.h"
#include "snapshot/import/import.h"
#include "snapshot/import/perf_sideband.h"

namespace fathom::snapshot {

struct ImageSearch {
  const PerfImport& options;
  perf::KernelPlace kernel;
  bool same_host = false;
};

// Fills in the images of `snapshot`, and adds those that `options` places.
Result<> find_images(const SnapshotDirectory& directory, const ImageSearch& search, Snapshot& snapshot);

}  // namespace fathom::snapshot
