#include "snapshot/record/pt/build_id.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kMostNoteBytes = 64 << 10;
constexpr uint16_t kMostElfSegments = 512;
constexpr size_t kMostBuildIdBytes = 64;

bool read_at(int file, uint64_t offset, void* to, size_t bytes) {
  if (offset > INT64_MAX) return false;
  return ::pread(file, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

std::vector<Elf64_Phdr> segments_of(int file) {
  Elf64_Ehdr header;
  if (!read_at(file, 0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) return {};
  std::vector<Elf64_Phdr> segments(std::min(header.e_phnum, kMostElfSegments));
  if (!read_at(file, header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr))) return {};
  return segments;
}

uint32_t padded(uint32_t bytes) {
  return bytes > UINT32_MAX - 3 ? UINT32_MAX : (bytes + 3) & ~3u;
}

std::string build_id_in(std::string_view notes) {
  ByteReader reader(notes);
  while (!reader.failed() && !reader.at_end()) {
    const uint32_t name_bytes = reader.u32();
    const uint32_t content_bytes = reader.u32();
    const uint32_t type = reader.u32();
    const std::string_view name = reader.raw(padded(name_bytes));
    const std::string_view content = reader.raw(padded(content_bytes));
    const bool found = !reader.failed() && type == NT_GNU_BUILD_ID && name == std::string_view("GNU\0", 4);
    if (found && content_bytes <= kMostBuildIdBytes) return std::string(content.substr(0, content_bytes));
  }
  return {};
}

}  // namespace

std::string read_build_id(int file) {
  for (const Elf64_Phdr& segment : segments_of(file)) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNoteBytes) continue;
    std::string notes(segment.p_filesz, '\0');
    if (!read_at(file, segment.p_offset, notes.data(), notes.size())) continue;
    if (std::string id = build_id_in(notes); !id.empty()) return id;
  }
  return {};
}

}  // namespace fathom::snapshot
