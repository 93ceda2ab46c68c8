// What to do about a directory that a program keeps its own files in, and cannot write to.
//
// Thread safety: a plain function.
#pragma once

#include <cerrno>
#include <string>

namespace fathom {

// `fault`: errno's. Begins with "; ", or is empty where the fault says enough.
inline std::string directory_cure(const std::string& path, int fault) {
  switch (fault) {
    case EROFS:
      return "; where systemd started this program, it writes only where its unit lets it: systemctl edit UNIT, and "
             "there "
             "[Service] and ReadWritePaths=" +
             path;
    case EACCES:
    case EPERM:
      return "; it must belong to the user that this program runs as: chown -R USER " + path;
    case ENOSPC:
    case EDQUOT:
      return "; make room on its disk";
    default:
      return "";
  }
}

}  // namespace fathom
