#include "base/small_file.h"

#include "base/fd.h"

namespace fathom {

namespace {

Error cannot_read(const std::string& path, int fault) {
  const std::string cure = fault == EACCES ? "; it must be readable for the user that this program runs as" : "";
  return unavailable("cannot read '" + path + "': " + std::strerror(fault) + cure);
}

}  // namespace

Result<std::string> read_small_file(const std::string& path, uint64_t most_bytes) {
  // A pipe that nobody writes to must not hold a program up.
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.open()) return cannot_read(path, errno);
  std::string text;
  char part[4096];
  while (true) {
    const ssize_t bytes = ::read(file.get(), part, sizeof part);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return cannot_read(path, errno);
    if (bytes == 0) return text;
    text.append(part, static_cast<size_t>(bytes));
    if (text.size() > most_bytes) {
      return exhausted("'" + path + "' has more than " + std::to_string(most_bytes) + " bytes; is another file meant?");
    }
  }
}

}  // namespace fathom
