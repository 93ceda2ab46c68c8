// perf.data from strangers: whatever it says, what was read of it can be written, and read again.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "snapshot/format/snapshot_file.h"
#include "snapshot/import/perf_packets.h"
#include "snapshot/import/perf_recording.h"
#include "snapshot/import/ran_here.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom;
  using namespace fathom::snapshot;
  perf::PerfInput input{"perf.data", Fd(::memfd_create("perf.data", MFD_CLOEXEC)), {}, {}};
  input.spool = Fd(::memfd_create("spool", MFD_CLOEXEC));
  if (::write(input.data.get(), data, size) != static_cast<ssize_t>(size)) std::abort();
  auto recording = perf::read_perf_data(input);
  if (!recording) return 0;
  Fd draft(::memfd_create("snapshot", MFD_CLOEXEC));
  Fd again(::fcntl(draft.get(), F_DUPFD_CLOEXEC, 0));
  auto writer = SnapshotWriter::begin(std::move(draft));
  keep_what_ran(recording->snapshot);
  if (!perf::copy_chunks(input, *recording, *writer)) std::abort();
  if (!writer->finish(recording->snapshot)) std::abort();
  if (!SnapshotFile::open(std::move(again))) std::abort();
  return 0;
}
