#include "store/verify/stored_clock.h"

#include <fstream>

#include "base/small_file.h"
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

std::optional<AgeState> stored_age_state(const std::string& path) {
  const Result<std::string> bytes = read_small_file(path + "/clock", kMostAgeStateBytes);
  if (!bytes) return std::nullopt;
  Result<AgeState> state = decode_age_state(*bytes);
  if (!state || is_first_age_state(*state)) return std::nullopt;
  return *std::move(state);
}

AgeTime stored_age_time(const std::string& path) {
  return AgeTime::as_saved(stored_age_state(path).value_or(AgeState{}));
}

}  // namespace fathom::store
