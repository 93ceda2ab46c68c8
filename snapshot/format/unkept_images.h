// unkept_images(): what a snapshot names of code, but nobody could keep the bytes of.
//
// Purpose: whoever records is told at once, and not by gaps when it is too late. Thread safety: pure functions. Errors:
// none; the reason is as recorded, and not yet harmless.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

struct UnkeptImages {
  size_t images = 0;  // of the snapshot
  size_t unkept = 0;  // of these
  std::string why;    // of the first one: "No space left on device"
};

// What an image says of itself where its bytes could not be copied. The error names a path of ours, which tells nobody
// anything.
std::string why_not_kept(const Error& error);

UnkeptImages unkept_images(const Snapshot& snapshot);

// "3 of 7 images are not kept: No space left on device; what runs in them will be gaps"
std::string unkept_images_text(const UnkeptImages& images);

}  // namespace fathom::snapshot
