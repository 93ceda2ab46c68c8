#include "snapshot/import/elf_layout.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/whole_io.h"
#include "snapshot/format/code_file.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kMostHeaders = 4096;  // a process's core file has some hundred
constexpr uint64_t kMostNoteBytes = 1 << 20;
constexpr uint64_t kMostBuildIdBytes = 64;
constexpr uint64_t kPageMask = 0xfff;

uint64_t file_size(const Fd& file) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return 0;
  return static_cast<uint64_t>(about.st_size);
}

class ElfReader {
 public:
  ElfReader(const Fd& file, const std::string& name) : file_(file), name_(name), size_(file_size(file)) {}

  Result<ElfLayout> read() {
    unsigned char ident[EI_NIDENT] = {};
    if (auto got = bytes(0, ident, sizeof ident); !got) return got.error();
    const bool known =
        std::memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_DATA] == ELFDATA2LSB && ident[EI_VERSION] == EV_CURRENT;
    if (known && ident[EI_CLASS] == ELFCLASS64) return read_class<Elf64_Ehdr, Elf64_Phdr>();
    if (known && ident[EI_CLASS] == ELFCLASS32) return read_class<Elf32_Ehdr, Elf32_Phdr>();
    return invalid(name_ + " is no ELF file of x86");
  }

 private:
  Error damaged(const std::string& what) const { return corrupt("the ELF file " + name_ + " is damaged: " + what); }

  Result<> bytes(uint64_t at, void* to, size_t count) const {
    if (at > size_ || count > size_ - at) return damaged("its headers point behind its end");
    return read_whole(file_.get(), at, {static_cast<uint8_t*>(to), count}, "cannot read " + name_);
  }

  template <typename Header, typename Segment>
  Result<ElfLayout> read_class() {
    Header header{};
    if (auto got = bytes(0, &header, sizeof header); !got) return got.error();
    if (header.e_machine != EM_X86_64 && header.e_machine != EM_386) return invalid(name_ + " is no ELF file of x86");
    if (header.e_phnum > kMostHeaders) return damaged("it has too many segments");
    if (header.e_phnum != 0 && header.e_phentsize != sizeof(Segment)) return damaged("its segments have an odd size");
    std::vector<Segment> segments(header.e_phnum);
    if (auto got = bytes(header.e_phoff, segments.data(), segments.size() * sizeof(Segment)); !got) return got.error();
    ElfLayout file;
    file.core = header.e_type == ET_CORE;
    for (const Segment& segment : segments) take_segment(segment, file);
    return file;
  }

  template <typename Segment>
  void take_segment(const Segment& segment, ElfLayout& file) const {
    if (segment.p_type == PT_NOTE && file.build_id.empty())
      file.build_id = build_id(segment.p_offset, segment.p_filesz);
    if (segment.p_type != PT_LOAD) return;
    file.cut_short |=
        segment.p_filesz > 0 && (segment.p_offset >= size_ || segment.p_filesz > size_ - segment.p_offset);
    if (segment.p_offset >= size_) return;
    // A truncated file still has the bytes that it has.
    const uint64_t there = std::min<uint64_t>(segment.p_filesz, size_ - segment.p_offset);
    const bool wraps = segment.p_vaddr + there < segment.p_vaddr;
    if (there == 0 || wraps) return;
    file.segments.push_back({segment.p_vaddr, segment.p_offset, there, (segment.p_flags & PF_X) != 0});
  }

  std::string build_id(uint64_t at, uint64_t count) const {
    std::string notes(std::min(count, kMostNoteBytes), '\0');
    if (!bytes(at, notes.data(), notes.size())) return {};
    for (ByteReader in(notes); in.remaining() >= sizeof(Elf64_Nhdr);) {
      const uint32_t name_bytes = in.u32();
      const uint32_t content_bytes = in.u32();
      const uint32_t type = in.u32();
      const std::string_view name = in.raw(padded(name_bytes)).substr(0, name_bytes);
      const std::string_view content = in.raw(std::min(padded(content_bytes), in.remaining())).substr(0, content_bytes);
      if (in.failed()) return {};
      const bool wanted = type == NT_GNU_BUILD_ID && name == std::string_view("GNU\0", 4);
      if (wanted && content.size() == content_bytes && content_bytes <= kMostBuildIdBytes) return std::string(content);
    }
    return {};
  }

  static size_t padded(uint32_t count) { return (size_t{count} + 3) & ~size_t{3}; }

  const Fd& file_;
  const std::string& name_;
  uint64_t size_;
};

}  // namespace

uint64_t ElfLayout::lowest_page() const {
  bool upper = false;
  for (const ElfSegment& segment : segments) upper |= segment.executable && segment.address >= kUpperHalf;
  uint64_t lowest = UINT64_MAX;
  for (const ElfSegment& segment : segments) {
    if (!upper || segment.address >= kUpperHalf) lowest = std::min(lowest, segment.address);
  }
  return lowest & ~kPageMask;
}

Result<bool> is_elf_file(const Fd& file) {
  char begin[SELFMAG] = {};
  const ssize_t got = ::pread(file.get(), begin, sizeof begin, 0);
  if (got < 0) return system_error("cannot read an image");
  return got == SELFMAG && std::memcmp(begin, ELFMAG, SELFMAG) == 0;
}

Result<ElfLayout> read_elf_layout(const Fd& file, const std::string& name) {
  return ElfReader(file, name).read();
}

Result<ElfLayout> read_elf_layout(const std::string& path) {
  Fd file = open_code(path);
  if (!file.open()) return system_error("cannot read the image " + path);
  return read_elf_layout(file, path);
}

}  // namespace fathom::snapshot
