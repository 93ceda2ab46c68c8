// trigger_latency: prints how long it takes from a trigger in a program until its ring stands still.
//
// Usage: trigger_latency [COUNT]. Output: one JSON object. Exit status: 0; 5 when it cannot record (it wants
// CAP_PERFMON).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "snapshot/record/pt/trigger_latency.h"

namespace {

double quantile_us(std::vector<uint64_t> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return static_cast<double>(values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))]) / 1000;
}

}  // namespace

int main(int argc, char** argv) {
  const uint32_t count = argc > 1 ? static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10)) : 1000;
  std::string scratch = std::filesystem::temp_directory_path() / "trigger_latency_XXXXXX";
  if (::mkdtemp(scratch.data()) == nullptr) return 5;
  const auto measured = fathom::snapshot::measure_trigger_latency(count, scratch);
  std::filesystem::remove_all(scratch);
  if (!measured) {
    std::fprintf(stderr, "trigger_latency: %s\n", measured.error().message.c_str());
    return 5;
  }
  std::printf(
      "{\"triggers\":%zu,\"real_pt\":%s,\"first_us_p50\":%.1f,\"first_us_p99\":%.1f,\"all_us_p50\":%.1f,"
      "\"all_us_p99\":%.1f}\n",
      measured->all_nano.size(), measured->real_pt ? "true" : "false", quantile_us(measured->first_nano, 0.5),
      quantile_us(measured->first_nano, 0.99), quantile_us(measured->all_nano, 0.5),
      quantile_us(measured->all_nano, 0.99));
  return 0;
}
