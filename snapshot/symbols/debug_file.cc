#include "snapshot/symbols/debug_file.h"

#include <elfutils/libdwelf.h>

#include <array>
#include <vector>

#include "base/ids.h"

namespace fathom::snapshot {
namespace {

// The checksum of .gnu_debuglink: CRC-32 as in Ethernet.
constexpr auto kCrc = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? (value >> 1) ^ 0xedb88320 : value >> 1;
    table[byte] = value;
  }
  return table;
}();

uint32_t crc32(std::string_view bytes) {
  uint32_t value = ~0u;
  for (const unsigned char byte : bytes) value = kCrc[(value ^ byte) & 0xff] ^ (value >> 8);
  return ~value;
}

struct Link {
  std::string name;
  uint32_t crc = 0;
};

std::optional<Link> link_of(const ElfFile& file) {
  GElf_Word crc = 0;
  const char* name = dwelf_elf_gnu_debuglink(file.elf(), &crc);
  if (name == nullptr) return std::nullopt;
  std::string text(name);
  if (text.empty() || text == "." || text == ".." || text.find('/') != std::string::npos) return std::nullopt;
  return Link{std::move(text), crc};
}

bool has_checksum(const ElfFile& candidate, uint32_t crc) {
  size_t size = 0;
  const char* bytes = elf_rawfile(candidate.elf(), &size);
  return bytes != nullptr && crc32({bytes, size}) == crc;
}

bool belongs(const ElfFile& candidate, const std::string& build_id, const std::optional<Link>& link) {
  const std::string own = candidate.build_id();
  if (!build_id.empty() || !own.empty()) return own == build_id;
  return link.has_value() && has_checksum(candidate, link->crc);
}

std::vector<std::string> places(const std::string& build_id, const std::optional<Link>& link,
                                const std::string& original_path, const std::string& root) {
  std::vector<std::string> paths;
  if (build_id.size() > 1) {
    const std::string id = to_hex(build_id);
    paths.push_back(root + "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug");
  }
  const size_t slash = original_path.rfind('/');
  if (!original_path.starts_with('/') || original_path.find('\0') != std::string::npos) return paths;
  const std::string folder = original_path.substr(0, slash);
  const std::string name = link ? link->name : original_path.substr(slash + 1) + ".debug";
  for (const std::string& at : {folder + "/", folder + "/.debug/", root + folder + "/"}) {
    if (at + name != original_path) paths.push_back(at + name);
  }
  return paths;
}

}  // namespace

std::optional<ElfFile> find_debug_file(const ElfFile& file, const std::string& original_path, const std::string& root) {
  const std::string build_id = file.build_id();
  const std::optional<Link> link = link_of(file);
  for (const std::string& path : places(build_id, link, original_path, root)) {
    auto candidate = ElfFile::open(path);
    if (candidate && belongs(*candidate, build_id, link)) return std::move(*candidate);
  }
  return std::nullopt;
}

}  // namespace fathom::snapshot
