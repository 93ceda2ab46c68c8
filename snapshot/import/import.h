// Import: snapshots out of what other tools recorded: a perf.data of `perf record -e intel_pt//`, a raw stream of
// packets.
//
// Purpose: whatever the source, what comes out is a snapshot as our own recorders write it (snapshot/format). Code is
// taken from the files of this machine, and only where it is proven to be what ran; otherwise an image is `missing`,
// with the reason. Thread safety: each call has its own state; calls may run beside each other. Errors: kInvalid (not
// such a file, wrong options), kCorrupt, kUnsupported (names what), kExhausted, kNotFound, kInternal (the system's
// words); messages name the cure. All files are hostile input; memory is bounded whatever they say. Packets are copied
// piece by piece.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/format/byte_progress.h"
#include "snapshot/format/directory.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

// FILE or FILE@HEXBASE.
struct ImageFile {
  std::string path;
  std::optional<uint64_t> base;
};
Result<ImageFile> parse_image_file(const std::string& text);

// FAMILY/MODEL/STEPPING, decimal or 0x...; what libipt's errata go by.
Result<Cpu> parse_cpu(const std::string& text);
// EAX/EBX of CPUID leaf 0x15.
struct Cpuid15 {
  uint32_t eax = 0;
  uint32_t ebx = 0;
};
Result<Cpuid15> parse_cpuid15(const std::string& text);

struct PerfImport {
  std::string path;
  // Files for code that is not where it was recorded: chosen by build-id, or by name where none was recorded. With a
  // base: placed there, in every process. A kernel's vmlinux without a base goes where the recording says.
  std::vector<ImageFile> images;
  std::string symfs;            // paths of images are looked for below this directory; then names are trusted
  std::string kcore;            // the kernel's code as it was in memory: kcore_dir/kcore of `perf record --kcore`
  std::string debug_directory;  // perf's cache of images by build-id, ~/.debug; empty: none
  ByteProgress progress;        // of copying packets
};
Result<SnapshotId> import_perf_data(const SnapshotDirectory& directory, const PerfImport& options);

struct RawImport {
  std::string path;  // packets, nothing else
  Cpu cpu;
  Timing timing;
  std::vector<ImageFile> images;
  ByteProgress progress;  // of copying packets
};
Result<SnapshotId> import_raw(const SnapshotDirectory& directory, const RawImport& options);

}  // namespace fathom::snapshot
