#include "net/token_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/directory_cure.h"
#include "base/fd.h"
#include "base/secret.h"

namespace fathom::net {

namespace {

constexpr const char* kName = "local";

Error cannot_make(const std::string& path, int error) {
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  return invalid("cannot make the token file '" + path + "': " + std::strerror(error) +
                 directory_cure(directory.empty() ? "." : directory, error));
}

bool write_all(int file, std::string_view text) {
  return ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
}

}  // namespace

// It gets its name when it is complete: who reads it must not find half a token.
Result<> make_token_file(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) return {};
  const std::string partial = path + ".new." + std::to_string(::getpid());
  const std::string text = std::string(kName) + ":" + random_secret() + "\n";
  ::unlink(partial.c_str());  // of a process of this number that was killed
  const Fd file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (file.get() < 0) return cannot_make(path, errno);
  const bool made = write_all(file.get(), text) && ::link(partial.c_str(), path.c_str()) == 0;
  const int error = errno;
  ::unlink(partial.c_str());
  if (!made && error != EEXIST) return cannot_make(path, error);
  return {};
}

}  // namespace fathom::net
