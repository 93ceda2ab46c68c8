#include "cli/sizes.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

#include "cli/text.h"

namespace fathom::cli {

namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr std::array<Unit, 10> kUnits{{{"", 1},
                                       {"B", 1},
                                       {"KiB", 1024.0},
                                       {"MiB", 1024.0 * 1024},
                                       {"GiB", 1024.0 * 1024 * 1024},
                                       {"TiB", 1024.0 * 1024 * 1024 * 1024},
                                       {"KB", 1e3},
                                       {"MB", 1e6},
                                       {"GB", 1e9},
                                       {"TB", 1e12}}};

std::optional<double> unit_bytes(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return unit.bytes;
  }
  return std::nullopt;
}

}  // namespace

Result<uint64_t> parse_size_bytes(std::string_view text) {
  double count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count, std::chars_format::fixed);
  std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  auto unit = unit_bytes(rest);
  // 2^60 bytes is beyond every disk here, and far from where doubles or 64 bits end.
  bool sane = error == std::errc() && unit && std::isfinite(count) && count >= 0 && count * *unit <= 0x1p60;
  if (sane) return static_cast<uint64_t>(std::llround(count * *unit));
  return invalid("'" + printable(text) + "' is not a size: write a number of bytes, or 64KiB, 512MiB, 50GiB");
}

std::string format_size(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr std::array<const char*, 6> kNames{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t name = 0;
  for (; value >= 1023.95 && name + 1 < kNames.size(); ++name) value /= 1024;
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, value < 99.95 ? "%.1f %s" : "%.0f %s", value, kNames[name]);
  return buffer;
}

}  // namespace fathom::cli
