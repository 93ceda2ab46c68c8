#include "store/verify/stored_clock.h"

#include <fstream>

#include "store/clock/clock_keeper.h"

namespace fathom::store {

std::optional<int> finished_version(const std::string& path) {
  std::ifstream in(path + "/version");
  int version = 0;
  std::string mark;
  if (!(in >> version) || in >> mark) return std::nullopt;
  return version;
}

bool must_have_clock(const std::string& path) {
  return finished_version(path).value_or(0) >= kFirstVersionWithClock;
}

}  // namespace fathom::store
