#include "snapshot/import/perf_header_parts.h"

#include <algorithm>

namespace fathom::snapshot::perf {
namespace {

constexpr size_t kMostWords = 4096;
constexpr size_t kMostWordBytes = 64 << 10;

}  // namespace

std::string header_string(ByteReader& in) {
  const uint32_t bytes = in.u32();
  if (bytes > kMostWordBytes) in.fail();
  const std::string_view text = in.raw(bytes);
  return std::string(text.substr(0, text.find('\0')));
}

std::string joined_words(std::string_view content) {
  ByteReader in(content);
  std::string all;
  const uint32_t count = in.u32();
  for (uint32_t i = 0; i < std::min<uint32_t>(count, kMostWords) && !in.failed(); ++i) {
    all += (all.empty() ? "" : " ") + header_string(in);
    if (all.size() > kMostWordBytes) break;
  }
  return all;
}

Cpu cpu_of(std::string_view content) {
  ByteReader in(content);
  const std::string text = header_string(in);
  const size_t comma = text.find(',');
  if (!text.starts_with("GenuineIntel,")) return {};
  unsigned numbers[3] = {};
  size_t at = comma + 1;
  for (unsigned& number : numbers) {
    while (at < text.size() && text[at] >= '0' && text[at] <= '9')
      number = number * 10 + static_cast<unsigned>(text[at++] - '0');
    ++at;
  }
  if (numbers[0] > UINT16_MAX || numbers[1] > UINT8_MAX || numbers[2] > UINT8_MAX) return {};
  return {true, static_cast<uint16_t>(numbers[0]), static_cast<uint8_t>(numbers[1]), static_cast<uint8_t>(numbers[2])};
}

}  // namespace fathom::snapshot::perf
