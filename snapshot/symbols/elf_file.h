// ElfFile: one ELF file, opened and checked: where its code lies in the file, sections by name, build-id.
//
// Purpose: what symbols, PLT entries and lines share of libelf. Thread safety: none (libelf has none): callers lock.
// Ownership: owns the descriptor and libelf's handle. Errors: kCorrupt, kUnsupported, kInternal (the system's words).
// The file is hostile input.
#pragma once

#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace fathom::snapshot {

// A piece of the file that is mapped to be executed.
struct CodeSegment {
  uint64_t address = 0;  // as the linker wrote it
  uint64_t file_offset = 0;
  uint64_t bytes = 0;  // in the file
};

class ElfFile {
 public:
  static Result<ElfFile> open(const std::string& path) { return open(path, path); }
  // `name`: what problems call it.
  static Result<ElfFile> open(const std::string& path, const std::string& name);
  // Of bytes in memory, which are kept.
  static Result<ElfFile> open_bytes(std::string bytes, const std::string& name);

  Elf* elf() const { return elf_.get(); }
  int fd() const { return file_.get(); }
  const std::vector<CodeSegment>& code() const { return code_; }
  // An address of the linker's as an offset in the file; only in code.
  std::optional<uint64_t> offset_of(uint64_t address) const;
  std::optional<uint64_t> address_of(uint64_t offset) const;
  // Of the segment around `offset`, or nullptr.
  const CodeSegment* segment_at(uint64_t offset) const;

  struct Section {
    Elf_Scn* scn = nullptr;
    GElf_Shdr header{};
  };
  std::optional<Section> section(std::string_view name) const;
  std::optional<Section> section_of_type(uint32_t type) const;
  // Its bytes in the file; empty where it has none, or they lie outside.
  static std::string_view bytes(const Section& section);
  std::string build_id() const;  // raw bytes

 private:
  struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
  };
  ElfFile() = default;
  static Result<ElfFile> checked(ElfFile file, const std::string& name);
  static Result<ElfFile> open_file(Fd file, const std::string& name);
  Result<> read_segments(const std::string& name);

  Fd file_;
  std::unique_ptr<std::string> bytes_;  // does not move with us
  std::unique_ptr<Elf, EndElf> elf_;
  std::vector<CodeSegment> code_;
};

}  // namespace fathom::snapshot
