#include <unistd.h>

#include "snapshot/import/draft.h"
#include "snapshot/import/image_finder.h"
#include "snapshot/import/import.h"
#include "snapshot/import/perf_packets.h"
#include "snapshot/import/perf_recording.h"
#include "snapshot/import/ran_here.h"

namespace fathom::snapshot {
namespace {

bool is_this_host(const std::string& name) {
  char own[256] = {};
  return !name.empty() && ::gethostname(own, sizeof own - 1) == 0 && name == own;
}

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

// perf writes a directory where it keeps more than records: the kernel's code, or a file for each of its threads.
Result<PerfImport> within_directory(PerfImport options) {
  if (!is_there(options.path + "/data")) return options;
  if (is_there(options.path + "/data.0")) {
    return Error{ErrorCode::kUnsupported, options.path +
                                              " is a directory of many files (perf record --threads), which "
                                              "is not read yet; record without --threads"};
  }
  const std::string kcore = options.path + "/kcore_dir/kcore";
  if (options.kcore.empty() && is_there(kcore)) options.kcore = kcore;
  options.path += "/data";
  return options;
}

}  // namespace

Result<SnapshotId> import_perf_data(const SnapshotDirectory& directory, const PerfImport& given) {
  auto within = within_directory(given);
  if (!within) return within.error();
  const PerfImport& options = *within;
  Fd file(::open(options.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open()) return system_error("cannot read " + options.path);
  auto recording = perf::read_perf_data(file, options.path);
  if (!recording) return recording.error();
  Snapshot& snapshot = recording->snapshot;
  keep_what_ran(snapshot);
  const ImageSearch search{options, recording->kernel, is_this_host(snapshot.host)};
  if (auto found = find_images(directory, search, snapshot); !found) return found.error();
  auto draft = Draft::begin(directory);
  if (!draft) return draft.error();
  if (auto copied = perf::copy_chunks(file, *recording, draft->writer(), options.progress); !copied)
    return copied.error();
  return draft->publish(std::move(snapshot));
}

}  // namespace fathom::snapshot
