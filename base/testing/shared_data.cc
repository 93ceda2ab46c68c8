#include "base/testing/shared_data.h"

#include <cstdlib>
#include <filesystem>

namespace fathom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "perf.data.intel_pt-4.14";

std::optional<std::string> from_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// The first of the places is the only one when somebody named it.
std::vector<std::string> candidates(const DataPlaces& places) {
  if (!places.given.empty()) return {places.given};
  if (places.perf_data) return {*places.perf_data};
  std::vector<std::string> paths;
  if (places.shared_data) paths.push_back(*places.shared_data + "/" + kName);
  for (fs::path at = fs::path(places.program).parent_path(); at.has_relative_path(); at = at.parent_path()) {
    paths.push_back((at.parent_path() / "shared" / "data" / kName).string());
  }
  return paths;
}

}  // namespace

DataPlaces data_places(const std::string& given) {
  std::error_code ignored;
  return {given, from_environment("FATHOM_PERF_DATA"), from_environment("FATHOM_SHARED_DATA"),
          fs::read_symlink("/proc/self/exe", ignored).string()};
}

Result<std::string> find_perf_data(const DataPlaces& places) {
  std::string looked;
  for (const std::string& path : candidates(places)) {
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) return path;
    looked += (looked.empty() ? "" : ", ") + path;
  }
  return not_found(std::string("no ") + kName + "; $FATHOM_PERF_DATA says where it is (looked for " + looked + ")");
}

}  // namespace fathom
