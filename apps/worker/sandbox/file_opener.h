// FileOpener: another process that opens programs, debug files and source text for a confined one.
//
// Purpose: a recording names the programs that ran, a program its debug file, and that its source files, wherever they
// lie on this host. The process that decodes may not open what hostile bytes name. It asks the opener, which reads
// nothing but the path, and hands out descriptors for reading of two kinds of regular files: ELF programs, libraries,
// kernel modules and debug files, but no core dump; and files of at most 4 MiB whose names end as those of source text
// do (".cc", ".rs"). The opener is confined itself: it can read files and change none. Thread safety:
// open() from any thread; calls wait for each other. Ownership: the socket has the number kOpenerDescriptor until the
// process ends; the opener ends with it. Errors: open() returns a closed Fd and sets errno; start() kInternal,
// kUnsupported.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace fathom {

inline constexpr int kOpenerDescriptor = 3;

struct FileOpenerOptions {
  bool opens_code = false;
  bool opens_sources = false;
  bool is_unsafe = false;  // serves also if it cannot be confined
};

class FileOpener {
 public:
  // Before any other thread. Takes descriptor kOpenerDescriptor, whatever it was.
  static Result<std::unique_ptr<FileOpener>> start(const FileOpenerOptions& options);

  Fd open(const std::string& path);

 private:
  std::mutex turn_;
};

}  // namespace fathom
