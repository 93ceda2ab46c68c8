// Placed images: files whose place in memory the person who imports says, or the file itself.
//
// Purpose: the rules of --image, for raw streams and perf.data alike: an ELF file without a base lies at its own
// addresses; with one, at base + (address - lowest page of its segments); a file that is no ELF lies at its base as it
// is. Only executable segments become maps. A file that is empty, damaged or cut short before its code is a missing
// image, which says so: what the others hold is decoded. Thread safety: none. Errors: kInvalid (names the cure),
// kExhausted.
#pragma once

#include <cstdint>
#include <optional>

#include "snapshot/format/directory.h"
#include "snapshot/import/import.h"

namespace fathom::snapshot {

inline constexpr uint64_t kMostImageBytes = uint64_t{4} << 30;

struct Placement {
  int32_t pid = -1;
  uint32_t flags = 0;             // SidebandFlags of the maps
  std::optional<uint64_t> slide;  // instead of a base: what is added to the file's own addresses
};

// Keeps the file in `directory`, and adds the image and its maps, from the beginning on, to `snapshot`.
Result<> add_placed_image(const SnapshotDirectory& directory, const ImageFile& file, const Placement& placement,
                          Snapshot& snapshot);

// A regular file that is small enough to be an image.
Result<Fd> open_image(const std::string& path);
// Keeps such a file as the content of `image`.
Result<> keep_image_file(const SnapshotDirectory& directory, const std::string& path, Image& image);

}  // namespace fathom::snapshot
