#include "base/sync_directory.h"

#include <filesystem>

#include "base/fd.h"

namespace fathom {

Result<> sync_directory(const std::string& path) {
  const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.open() && ::fsync(directory.get()) == 0) return {};
  return system_error("cannot sync " + path);
}

Result<> sync_path(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.open() && ::fsync(file.get()) == 0) return {};
  return system_error("cannot sync " + path);
}

Result<> sync_new_directory(const std::string& path) {
  if (Result<> synced = sync_directory(path); !synced) return synced;
  const std::filesystem::path absolute = std::filesystem::absolute(path).lexically_normal();
  const std::filesystem::path named = absolute.has_filename() ? absolute : absolute.parent_path();
  return sync_directory(named.parent_path().string());
}

}  // namespace fathom
