#include "snapshot/record/step/elf_notes.h"

#include <elf.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace fathom::snapshot::step {
namespace {

constexpr uint64_t kMostNoteBytes = 1 << 20;
constexpr uint64_t kMostBuildIdBytes = 64;

template <typename T>
bool read_at(int file, uint64_t offset, T& value) {
  return ::pread(file, &value, sizeof value, static_cast<off_t>(offset)) == static_cast<ssize_t>(sizeof value);
}

uint64_t padded(uint64_t size) {
  return (size + 3) & ~uint64_t{3};
}

std::string build_id_in(std::string_view notes) {
  Elf64_Nhdr note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    const uint64_t whole = padded(note.n_namesz) + padded(note.n_descsz);
    if (whole > notes.size()) break;
    const bool gnu = notes.substr(0, note.n_namesz) == std::string_view("GNU\0", 4);
    if (gnu && note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= kMostBuildIdBytes)
      return std::string(notes.substr(padded(note.n_namesz), note.n_descsz));
    notes.remove_prefix(whole);
  }
  return "";
}

}  // namespace

bool is_elf(int file) {
  char magic[SELFMAG];
  return read_at(file, 0, magic) && std::memcmp(magic, ELFMAG, SELFMAG) == 0;
}

std::string elf_build_id(int file) {
  Elf64_Ehdr header;
  if (!is_elf(file) || !read_at(file, 0, header) || header.e_ident[EI_CLASS] != ELFCLASS64) return "";
  for (uint64_t i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    if (!read_at(file, header.e_phoff + i * sizeof segment, segment)) break;
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNoteBytes) continue;
    std::string notes(segment.p_filesz, '\0');
    const ssize_t got = ::pread(file, notes.data(), notes.size(), static_cast<off_t>(segment.p_offset));
    if (got != static_cast<ssize_t>(notes.size())) continue;
    if (std::string id = build_id_in(notes); !id.empty()) return id;
  }
  return "";
}

}  // namespace fathom::snapshot::step
