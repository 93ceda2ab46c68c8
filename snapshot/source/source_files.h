// SourceFiles: lines of source files that debug information names, from directories that somebody allowed.
//
// Purpose: a name comes out of a stranger's file, so that it decides nothing: only below the TO of a FROM[=TO] whose
// FROM begins it is anything opened, by a path that cannot leave TO (openat2), only regular files, of kMostSourceBytes
// at most. Files that were read are kept, and read again when they changed. Thread safety: all of it. Ownership: owns
// what it keeps. Units: lines count from 1. Errors: kNotFound, with a name for the cure (--source-dir); kExhausted for
// a file that is too large; kInvalid for a directory that is written wrongly.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::snapshot {

inline constexpr uint64_t kMostSourceBytes = 4 << 20;
inline constexpr size_t kMostLineBytes = 4096;  // of a line, more is cut

// Names that begin with `from` ("." stands before all that are relative, "*/src" for "/src" behind anything) lie below
// `to`.
struct SourceDirectory {
  std::string from;
  std::string to;
};

// "FROM=TO", or "DIR" for both.
Result<SourceDirectory> parse_source_directory(const std::string& text);
Result<std::vector<SourceDirectory>> parse_source_directories(const std::vector<std::string>& texts);

struct SourceText {
  uint32_t first_line = 0;
  std::vector<std::string> lines;
};

// Opens a file of source text where this process may not open it itself; a closed Fd, and errno, if it is refused. The
// function must precede every other thread, and is kept to the process's end.
using SourceOpener = std::function<Fd(const std::string& path)>;
void set_source_opener(SourceOpener opener);

class SourceFiles {
 public:
  explicit SourceFiles(std::vector<SourceDirectory> directories);
  ~SourceFiles();
  SourceFiles(const SourceFiles&) = delete;
  SourceFiles& operator=(const SourceFiles&) = delete;

  // The line and `context` more on each side, fewer where the file begins or ends.
  Result<SourceText> text(const std::string& file, uint32_t line, uint32_t context) const;

 private:
  class Content;
  using SharedContent = std::shared_ptr<const Content>;

  Result<SharedContent> content(const std::string& file) const;
  Result<SharedContent> read(const Fd& file, const std::string& path, const struct stat& about) const;
  SharedContent known(const struct stat& about) const;
  void keep(SharedContent content) const;

  const std::vector<SourceDirectory> directories_;
  mutable std::mutex mutex_;
  mutable std::list<SharedContent> kept_;  // the one asked for last is first
};

}  // namespace fathom::snapshot
