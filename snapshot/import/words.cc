#include <charconv>

#include "snapshot/import/import.h"

namespace fathom::snapshot {
namespace {

// Decimal, or hexadecimal behind 0x. The whole text.
std::optional<uint64_t> number(std::string_view text, uint64_t most) {
  int radix = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    radix = 16;
  }
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, radix);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

std::optional<uint64_t> hexadecimal(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return number(text, UINT64_MAX);
  return number("0x" + std::string(text), UINT64_MAX);
}

std::vector<std::string_view> parts_of(std::string_view text, char between) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(between, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace

Result<ImageFile> parse_image_file(const std::string& text) {
  const size_t at = text.rfind('@');
  if (text.empty() || at == 0) return invalid("--image FILE or --image FILE@HEXBASE; '" + text + "' names no file");
  if (at == std::string::npos) return ImageFile{text, std::nullopt};
  const auto base = hexadecimal(std::string_view(text).substr(at + 1));
  if (base) return ImageFile{text.substr(0, at), base};
  // Names with an @ exist: /lib/systemd/system/getty@.service.
  if (text.find('/', at) != std::string::npos || text.find('.', at) != std::string::npos) return ImageFile{text, {}};
  return invalid("'" + text + "': what follows @ is no hexadecimal address");
}

Result<Cpu> parse_cpu(const std::string& text) {
  const auto parts = parts_of(text, '/');
  if (parts.size() == 3) {
    const auto family = number(parts[0], UINT16_MAX);
    const auto model = number(parts[1], UINT8_MAX);
    const auto stepping = number(parts[2], UINT8_MAX);
    if (family && model && stepping) {
      return Cpu{true, static_cast<uint16_t>(*family), static_cast<uint8_t>(*model), static_cast<uint8_t>(*stepping)};
    }
  }
  return invalid("'" + text +
                 "' is not FAMILY/MODEL/STEPPING, like 6/142/10 (see /proc/cpuinfo where it was recorded)");
}

Result<Cpuid15> parse_cpuid15(const std::string& text) {
  const auto parts = parts_of(text, '/');
  if (parts.size() == 2) {
    const auto eax = number(parts[0], UINT32_MAX);
    const auto ebx = number(parts[1], UINT32_MAX);
    if (eax && ebx && (*eax == 0 || *ebx == 0)) {
      return invalid("'" + text + "' is no ratio: a processor that says 0 there does not know it; leave it out");
    }
    if (eax && ebx) return Cpuid15{static_cast<uint32_t>(*eax), static_cast<uint32_t>(*ebx)};
  }
  return invalid("'" + text + "' is not EAX/EBX of CPUID leaf 0x15, like 2/168");
}

}  // namespace fathom::snapshot
