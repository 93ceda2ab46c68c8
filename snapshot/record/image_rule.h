// ImageRule: which files of recorded programs a snapshot gets copies of.
//
// Purpose: a reader of a snapshot can download the files in it, and a recorder, above all root, can open more files
// than other users. Thread safety: as the system's; a file's mode may change at any time. Errors: none; what cannot be
// determined is private.
#pragma once

#include <cstdint>
#include <string>

namespace fathom::snapshot {

enum class ImageRule : uint8_t {
  kAll,        // every file that this process can open
  kReadable,   // files that everybody may read, by their mode
  kReachable,  // of these, files in directories that everybody may enter
};

// Whether everybody may read an open file, by its mode.
bool everybody_may_read(int file);
// Whether everybody may enter the directories above `path`, which begins with '/', from `root` on: a directory without
// '/' at its end, or nothing.
bool everybody_may_reach(const std::string& root, const std::string& path);

// Image::missing of a private file.
inline constexpr const char* kPrivateImage =
    "not everybody may read the file; --pt-private-images of the agent, or --private-images of fathom record, copies "
    "it";

}  // namespace fathom::snapshot
