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

namespace {

Result<AgeState> read_state(const std::string& path) {
  const Result<std::string> bytes = read_small_file(path + "/clock", kMostAgeStateBytes);
  return bytes ? decode_age_state(*bytes) : Result<AgeState>(bytes.error());
}

}  // namespace

std::optional<AgeState> stored_age_state(const std::string& path) {
  Result<AgeState> state = read_state(path);
  if (!state || is_first_age_state(*state)) return std::nullopt;
  return *std::move(state);
}

bool has_unix_stamps(const std::string& path) {
  const Result<AgeState> state = read_state(path);
  if (state) return is_first_age_state(*state);
  return finished_version(path).value_or(kFirstVersionWithClock) < kFirstVersionWithClock;
}

AgeTime stored_age_time(const std::string& path) {
  return AgeTime::as_saved(stored_age_state(path).value_or(AgeState{}));
}

void use_stored_clock(const std::string& path, Findings& findings) {
  findings.use_clock(stored_age_time(path));
  if (stored_age_state(path) || has_unix_stamps(path)) return;
  findings.note("the age clock is missing or damaged, so times of reception may differ from the wall clock's");
}

}  // namespace fathom::store
