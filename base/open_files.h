// The limit of open files, raised as far as this process may: connections, pools and sorted files are descriptors, and
// the usual soft limit of 1024 is for programs that use select().
#pragma once

#include <sys/resource.h>

#include "base/log.h"

namespace fathom {

inline void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) log_warning("cannot raise the limit of open files");
}

}  // namespace fathom
