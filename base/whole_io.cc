#include "base/whole_io.h"

namespace fathom {

// A disk that is nearly full takes a part.
Result<> write_whole(int file, std::string_view bytes, const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return system_error(what);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<> read_whole(int file, uint64_t offset, std::span<uint8_t> bytes, const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(what);
    if (got == 0) return corrupt(what + ": the file is shorter than it was");
    offset += static_cast<uint64_t>(got);
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return {};
}

}  // namespace fathom
