#include <sys/stat.h>

#include "snapshot/import/draft.h"
#include "snapshot/import/import.h"
#include "snapshot/import/placed_image.h"

namespace fathom::snapshot {
namespace {

// Of a raw stream nobody says whose it is.
constexpr int32_t kNobody = 0;

Result<uint64_t> packet_bytes(const Fd& file, const std::string& path) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return system_error("cannot look at " + path);
  if (!S_ISREG(about.st_mode)) return invalid(path + " is no regular file; save the packets to one first");
  if (about.st_size == 0) return invalid(path + " is empty: it holds no packets");
  return static_cast<uint64_t>(about.st_size);
}

Snapshot describe(const RawImport& options) {
  Snapshot snapshot;
  snapshot.origin = Origin::kRawStream;
  snapshot.cpu = options.cpu;
  snapshot.timing = options.timing;
  snapshot.command = options.path.substr(options.path.rfind('/') + 1);
  snapshot.streams.push_back({-1, kNobody, kNobody, {}});
  return snapshot;
}

}  // namespace

Result<SnapshotId> import_raw(const SnapshotDirectory& directory, const RawImport& options) {
  Fd file(::open(options.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open()) return system_error("cannot read the packets in " + options.path);
  auto bytes = packet_bytes(file, options.path);
  if (!bytes) return bytes.error();
  Snapshot snapshot = describe(options);
  for (const ImageFile& image : options.images) {
    auto placed = add_placed_image(directory, image, {.pid = kNobody}, snapshot);
    if (!placed) return placed.error();
  }
  auto draft = Draft::begin(directory);
  if (!draft) return draft.error();
  CopyMeter meter(options.progress, *bytes);
  if (auto copied = copy_packets(file, 0, *bytes, 0, 0, draft->writer(), meter); !copied) return copied.error();
  return draft->publish(std::move(snapshot));
}

}  // namespace fathom::snapshot
