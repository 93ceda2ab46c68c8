#include "base/secret_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/directory_cure.h"
#include "base/fd.h"
#include "base/whole_io.h"

namespace fathom {

namespace {

struct SecretFile {
  const std::string& path;
  const char* what;

  std::string directory() const {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
  }
  Error cannot_make(int error) const {
    return invalid(std::string("cannot make the ") + what + " '" + path + "': " + std::strerror(error) +
                   directory_cure(directory(), error));
  }
};

// A power cut must not remove the file: what depends on the secret would outlive it.
Result<> sync_secret_directory(const SecretFile& file) {
  const Fd opened(::open(file.directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened.open() && ::fsync(opened.get()) == 0 ? Result<>() : Result<>(file.cannot_make(errno));
}

// Keeps a file that another process made first. Some file systems have no hard links.
bool give_name(const std::string& partial, const std::string& path) {
  if (::link(partial.c_str(), path.c_str()) == 0 || errno == EEXIST) return true;
  return ::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0 || errno == EEXIST;
}

}  // namespace

// The file gets its name when it is complete: a reader must not find half a secret.
Result<> make_secret_file(const std::string& path, std::string_view content, const char* what) {
  const SecretFile secret{path, what};
  struct stat about {};
  if (::lstat(path.c_str(), &about) == 0) return {};
  if (errno != ENOENT) return secret.cannot_make(errno);
  const std::string partial = path + ".new." + std::to_string(::getpid());
  ::unlink(partial.c_str());  // left by a killed process with the same number
  const Fd file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!file.open()) return secret.cannot_make(errno);
  Result<> written = write_whole(file.get(), content, partial);
  if (written && ::fsync(file.get()) != 0) written = secret.cannot_make(errno);
  if (written && !give_name(partial, path)) written = secret.cannot_make(errno);
  ::unlink(partial.c_str());
  return written ? sync_secret_directory(secret) : written;
}

}  // namespace fathom
