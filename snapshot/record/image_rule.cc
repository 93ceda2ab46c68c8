#include "snapshot/record/image_rule.h"

#include <sys/stat.h>

#include <cstddef>

namespace fathom::snapshot {

bool everybody_may_read(int file) {
  struct stat about {};
  return ::fstat(file, &about) == 0 && (about.st_mode & S_IROTH) != 0;
}

bool everybody_may_reach(const std::string& root, const std::string& path) {
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string directory = root + path.substr(0, slash + 1);
    struct stat about {};
    if (::stat(directory.c_str(), &about) != 0 || (about.st_mode & S_IXOTH) == 0) return false;
  }
  return true;
}

}  // namespace fathom::snapshot
