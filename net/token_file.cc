#include "net/token_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/directory_cure.h"
#include "base/fd.h"
#include "base/secret.h"
#include "base/whole_io.h"

namespace fathom::net {

namespace {

constexpr const char* kName = "local";

Error cannot_make(const std::string& path, int error) {
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  return invalid("cannot make the token file '" + path + "': " + std::strerror(error) +
                 directory_cure(directory.empty() ? "." : directory, error));
}

// A power cut must not take the file away again: a server would take its data for that of an earlier version.
Result<> sync_directory(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened.open() && ::fsync(opened.get()) == 0 ? Result<>() : Result<>(cannot_make(path, errno));
}

// Not over a file of another process that was faster. Some file systems have no hard links.
bool give_name(const std::string& partial, const std::string& path) {
  if (::link(partial.c_str(), path.c_str()) == 0 || errno == EEXIST) return true;
  return ::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0 || errno == EEXIST;
}

}  // namespace

// It gets its name when it is complete: a reader must not find half a token.
Result<> make_token_file(const std::string& path) {
  struct stat about {};
  if (::lstat(path.c_str(), &about) == 0) return {};
  if (errno != ENOENT) return cannot_make(path, errno);
  const std::string partial = path + ".new." + std::to_string(::getpid());
  const std::string text = std::string(kName) + ":" + random_secret() + "\n";
  ::unlink(partial.c_str());  // of a process of this number that was killed
  const Fd file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (!file.open()) return cannot_make(path, errno);
  Result<> written = write_whole(file.get(), text, partial);
  if (written && ::fsync(file.get()) != 0) written = cannot_make(path, errno);
  if (written && !give_name(partial, path)) written = cannot_make(path, errno);
  ::unlink(partial.c_str());
  return written ? sync_directory(path) : written;
}

}  // namespace fathom::net
